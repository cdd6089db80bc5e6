package review

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// commands has the commands that only a person allows: they can't be undone, reach other machines or people, or change
// rights. A "*" matches any arguments.
const commands = `
rm | rm * | rmdir * | unlink * | shred * | truncate * | dd * | mkfs* | wipefs * | fdisk * | parted * | find *-delete*
chmod * | chown * | chgrp * | setfacl * | chattr * | sudo * | su | su * | doas * | pkexec * | passwd * | usermod * | useradd * | userdel *
kill * | killall * | pkill * | shutdown* | reboot* | halt* | poweroff* | systemctl * | service * | launchctl * | crontab * | at * | mount * | umount *
git push* | git reset*--hard* | git clean* | git branch *-D* | git branch *-d* | git branch *--delete* | git restore* | git checkout * | git switch *-*f* | git switch *-*C* | git switch *--discard-changes*
git rebase* | git filter-* | git reflog * | git gc* | git stash drop* | git stash clear* | git tag *-d* | git update-ref* | git remote * | git config * | git worktree remove*
npm publish* | npm unpublish* | npm login* | npm token* | yarn publish* | yarn npm publish* | pnpm publish* | cargo publish* | cargo yank* | twine * | gem push* | gem yank*
docker push* | docker rm* | docker rmi* | docker *prune* | docker volume rm* | docker login* | docker run*--privileged* | podman push* | podman rm* | podman *prune*
gh repo delete* | gh repo edit* | gh release * | gh secret * | gh pr merge* | gh api * | gh auth * | glab *
terraform * | tofu * | pulumi * | kubectl * | helm * | aws * | gcloud * | az * | ansible* | fly * | flyctl * | heroku * | vercel * | netlify * | wrangler * | doctl *
ssh * | scp * | sftp * | rsync * | ssh-copy-id* | ssh-keygen* | gpg * | nc * | ncat * | socat * | telnet *
psql* | mysql* | mariadb* | mongo* | redis-cli* | sqlite3 * | dropdb * | dropuser * | createuser * | pg_restore* | sqlcmd*
curl -* | curl * -* | wget -* | wget * -*
`

// personal has the rules of commands; everything else is allowed.
var personal = sync.OnceValue(func() *permission.Layers {
	rule := func(tool, pattern string, action permission.Action) permission.Rule {
		return permission.Rule{Tool: tool, Pattern: pattern, Action: action, Source: permission.Source{File: "built in"}}
	}
	var denies []permission.Rule
	for _, line := range strings.Split(strings.TrimSpace(commands), "\n") {
		for _, pattern := range strings.Split(line, " | ") {
			denies = append(denies, rule(toolcatalog.ShellExec, pattern, permission.Deny))
		}
	}
	return &permission.Layers{
		Policies: []*permission.Ruleset{permission.MustRuleset(denies...)},
		Static:   permission.MustRuleset(rule("*", "*", permission.Allow), rule("*", "/**", permission.Allow)),
	}
})

// beyond returns why a call is not for a reviewer; empty means that it is.
func beyond(c *Call) string {
	switch d := personal().Decide(c.Values); {
	case len(c.Values) == 0:
		return "it is not known what the call wants"
	case slices.ContainsFunc(c.Values, writesOutside):
		return "a file outside the workspace is for a person to allow"
	case d.Action == permission.Deny:
		return "such a command is for a person to allow"
	case d.Action != permission.Allow:
		return "what the call does can't be known before"
	case len(c.Arguments) > maxArguments:
		return "the call is too long for a review"
	}
	return ""
}

// writesOutside reports whether v is a file outside the workspace that is not only read.
func writesOutside(v permission.Value) bool {
	return v.Kind == permission.Outside && v.Tool != toolcatalog.ReadFile
}
