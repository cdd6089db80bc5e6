// Package skills finds and reads skills as agentskills.io has them: folders with a
// SKILL.md, which says in its frontmatter what the skill is called and what it is for.
//
// Where several folders have a skill of one name, the first one counts:
//
//   - .agents/skills, .claude/skills and .github/skills of the workspace
//   - ~/.agents/skills and ~/.claude/skills of the user
//
// The files are a stranger's. A folder of the workspace is read through an [os.Root], so that
// no link leads out of the workspace, and no file of a skill is read that lies outside of the
// skill's own folder. All that is read has a bound. Nothing is run, and no field gives rights.
package skills
