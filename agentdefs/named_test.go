package agentdefs_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// lostTools are the names of the corpus without a tool here.
var lostTools = []string{"avoid-ai-writing", "githubRepo", "mcp__*", "rename", "terminalLastCommand"}

// TestCorpusTools prints the share of real agents that have all tools they name, given a search provider and
// their servers. No name may be lost in silence. CORPUS is a folder of more files.
func TestCorpusTools(t *testing.T) {
	agents, whole, lost := 0, 0, map[string]int{}
	count := func(file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := agentdefstest.Load(t, map[string]string{".claude/agents/" + filepath.Base(file): string(data)}, nil)
		for _, d := range s.Agents() {
			if d.BuiltIn {
				continue
			}
			agents++
			here := func(name string) bool {
				return agentdefs.Exists(name) || name == "web_search" || strings.HasSuffix(name, "*") || isServerTool(name)
			}
			missing := d.Missing(here)
			if len(missing) == 0 {
				whole++
			}
			for _, name := range missing {
				lost[name]++
			}
			for _, n := range d.Named {
				if !slices.ContainsFunc(n.Tools, here) && !slices.Contains(missing, n.Name) {
					t.Errorf("%s: the tool %s is lost, and nobody is told", file, n.Name)
				}
			}
		}
	}
	dirs := []string{"testdata/corpus"}
	if more := os.Getenv("CORPUS"); more != "" {
		dirs = append(dirs, more)
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && filepath.Ext(file) == ".md" {
				count(file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	names := slices.Sorted(maps.Keys(lost))
	t.Logf("%d of %d agents (%.1f %%) have every tool that they name; lost: %v", whole, agents, 100*float64(whole)/float64(agents), lost)
	if len(dirs) == 1 && (agents < 36 || !slices.Equal(names, lostTools)) {
		t.Errorf("%d agents, lost %q, want %q", agents, names, lostTools)
	}
}

// isServerTool reports whether a name has the form of an MCP tool, SERVER_TOOL.
func isServerTool(name string) bool {
	server, tool, ok := strings.Cut(name, "_")
	return ok && server != "" && tool != ""
}

// TestForeignLists: the lists of tools in files of other programs, and the names in them that are lost.
func TestForeignLists(t *testing.T) {
	for list, lost := range map[string]string{
		// VS Code, in the names of its chat modes and of its tool sets.
		"[changes, codebase, editFiles, extensions, fetch, findTestFiles, githubRepo, problems, runCommands, runTasks, runTests, search, searchResults, terminalLastCommand, testFailure, usages]": "extensions githubRepo problems",
		"[vscode, execute, read, agent, edit, search, web, todo]": "",
		"[vscode/askQuestions, execute/getTerminalOutput, execute/runInTerminal, read/problems, read/viewImage, edit/createDirectory, edit/createFile, search/changes, search/textSearch, agent/runSubagent, web/fetch, todos]": "",
		// Without commands nothing runs the tests.
		"[codebase, runTests, changes]": "runTests changes",
		// Cursor, Antigravity, Cline.
		"[read_file, write, search_replace, MultiEdit, run_terminal_cmd, codebase_search, list_dir, glob_file_search, web_search, read_lints, todo_write]":    "",
		"[view_file, replace_file_content, write_to_file, find_by_name, grep_search, list_dir, search_web]":                                                   "",
		"[read_file, list_files, list_code_definition_names, search_files, replace_in_file, write_to_file, execute_command, new_task, ask_followup_question]": "",
		// Claude Code's list of tasks.
		"[Read, TaskCreate, TaskUpdate, TaskList, TaskGet]": "",
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: " + list + "\n---\nWork.\n"}, nil)
		d, ok := s.Agent("a")
		if !ok {
			t.Fatalf("%s: %v", list, s.Diagnostics())
		}
		missing := d.Missing(func(name string) bool { return agentdefs.Exists(name) || name == "web_search" })
		if got := strings.Join(missing, " "); got != lost {
			t.Errorf("%s: lost are %q, want %q", list, got, lost)
		}
	}
}
