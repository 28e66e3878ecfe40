// Package gitrepo knows what a person's next git command, a cd, or the opening of a folder runs
// without asking, and guards it.
//
// A command that may write in a workspace could leave a setting there that runs a program once
// somebody else works in it. Obeyed collects what is obeyed in a workspace, at any depth, in one
// walk. Changed compares two looks and names what the second one would run and the first would not.
// PutBack undoes that, and says what it did. Nothing here decides whether it may be done.
//
// # What git obeys
//
// The list follows git's documentation, by page and term:
//
//   - A repository is a folder with HEAD and either objects and refs, or commondir:
//     gitrepository-layout. A bare one below the workspace counts, since git takes the folder it is
//     started in for one: git-config, safe.bareRepository.
//   - .git may be a file that says where the repository is (gitrepository-layout, "gitfile"), or a
//     symbolic link. Linked worktrees and submodules have their own: gitrepository-layout,
//     worktrees/ and modules/, whose names may hold slashes (gitsubmodules).
//   - commondir says where config and hooks are taken from instead: gitrepository-layout,
//     commondir.
//   - config and config.worktree: git-config, FILES. What include.path and includeIf.*.path name is
//     read with them, relative to the file that names it: git-config, "Includes". The person's own
//     files (~/.gitconfig, $XDG_CONFIG_HOME/git/config, the system's) are read for what they name
//     in the workspace.
//   - Which settings run a program or name code is in keys.txt, one line for each key that `git
//     help --config` lists. A key that is not there counts as one that does.
//   - hooks/, or the folder that core.hooksPath names, relative to where the hook runs, the top of
//     the worktree: githooks. The samples that git puts there have names that it never runs.
//   - Filters, text conversions, merge and diff drivers run only where a configuration defines
//     them: gitattributes, "filter", "Performing text diffs of binary files", "Defining a custom
//     merge driver". So .gitattributes and info/attributes, which choose among them, are data here,
//     and a file that such a setting names is not.
//   - rebase-merge/git-rebase-todo holds commands for the next `git rebase --continue`: git-rebase,
//     "exec".
//   - remotes/ and branches/ hold addresses: gitrepository-layout. An address with "::" names a
//     program: gitremote-helpers.
//   - .gitmodules is data: a command as update is refused there (gitmodules,
//     submodule.<name>.update). So are info/exclude, info/grafts, objects/info/alternates, shallow,
//     refs and HEAD: they name objects and branches, no program.
//
// What else is obeyed is in opened.go. What hooks, filters and build files call in their turn is
// not followed beyond the files that a setting itself names.
package gitrepo
