package dialect

// Manifests are the files of which each makes a folder a plugin. The first one counts.
var Manifests = []string{".plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json"}

// Marketplaces are the files that name the plugins of a workspace.
var Marketplaces = []string{".claude-plugin/marketplace.json", ".github/plugin/marketplace.json"}

// PluginFolders are the folders of a plugin's agents, beside those of its manifest. Agent Plugins leaves agents
// to clients, each in a folder of its own name.
var PluginFolders = []string{"agents", "dev.agentworker/agents", "com.github.copilot/agents"}
