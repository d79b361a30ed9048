//! Paths that tools on the host obey: what a guest plants there runs later, outside any jar.

/// How far a host's tools trust a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustClass {
    /// Content; nothing acts on it by itself.
    Plain,
    /// Acted on by a command that its user gives: applied, and pointed out with the reason.
    Notable(&'static str),
    /// Acted on by merely entering, opening or listing the folder: applied only when named.
    Protected(&'static str),
}

/// Which part of a path a rule looks at; letters of either case match, as some file systems do not tell them apart.
enum Part {
    /// Any name on the way, with everything beneath it.
    Anywhere(&'static str),
    /// The last name.
    Last(&'static str),
    /// How the last name ends.
    Ending(&'static str),
    /// Two names on the way, with everything beneath them.
    Pair(&'static str, &'static str),
}

use Part::{Anywhere, Ending, Last, Pair};
use TrustClass::{Notable, Plain, Protected};

const VERSIONS: TrustClass = Protected("version control runs hooks and commands that are configured here");
const EDITOR: TrustClass = Protected("editors run tasks and settings of a folder when it is opened");
const AGENT: TrustClass = Protected("coding agents run hooks and servers that are configured here");
const SHELL: TrustClass = Protected("shells run it when they start or enter the folder");
const KEYS: TrustClass = Protected("decides who may log in or what is signed");
const INSTRUCTIONS: TrustClass = Notable("coding agents follow it as instructions");
const PYTHON: TrustClass = Notable("Python or its test and packaging tools run it unasked");
const BUILD: TrustClass = Notable("build tools run it");
const PACKAGES: TrustClass = Notable("package tools run its scripts or fetch what it names");
const PIPELINE: TrustClass = Notable("runs in continuous integration with the project's rights");
const CONTAINER: TrustClass = Notable("container tools build and run it");
const GIT_FILE: TrustClass = Notable("git takes filters, sources or a whole repository from it");

/// The first rule that matches decides.
const RULES: &[(Part, TrustClass)] = &[
    (Anywhere(".git"), VERSIONS),
    (Anywhere("git~1"), VERSIONS),
    (Anywhere(".hg"), VERSIONS),
    (Anywhere(".svn"), VERSIONS),
    (Anywhere(".bzr"), VERSIONS),
    (Anywhere(".jj"), VERSIONS),
    (Anywhere(".husky"), VERSIONS),
    (Anywhere(".githooks"), VERSIONS),
    (Last(".gitconfig"), VERSIONS),
    (Last(".hgrc"), VERSIONS),
    (Anywhere(".vscode"), EDITOR),
    (Anywhere(".idea"), EDITOR),
    (Anywhere(".fleet"), EDITOR),
    (Anywhere(".zed"), EDITOR),
    (Anywhere(".vs"), EDITOR),
    (Anywhere(".devcontainer"), EDITOR),
    (Last(".devcontainer.json"), EDITOR),
    (Ending(".code-workspace"), EDITOR),
    (Last(".vimrc"), EDITOR),
    (Last(".nvimrc"), EDITOR),
    (Last(".exrc"), EDITOR),
    (Last(".nvim.lua"), EDITOR),
    (Last(".lvimrc"), EDITOR),
    (Last(".dir-locals.el"), EDITOR),
    (Anywhere(".claude"), AGENT),
    (Anywhere(".cursor"), AGENT),
    (Anywhere(".codex"), AGENT),
    (Anywhere(".gemini"), AGENT),
    (Anywhere(".windsurf"), AGENT),
    (Anywhere(".continue"), AGENT),
    (Anywhere(".aider"), AGENT),
    (Last(".aider.conf.yml"), AGENT),
    (Last(".mcp.json"), AGENT),
    (Last("mcp.json"), AGENT),
    (Last(".envrc"), SHELL),
    (Anywhere(".direnv"), SHELL),
    (Last(".mise.toml"), SHELL),
    (Last("mise.toml"), SHELL),
    (Last(".tool-versions"), SHELL),
    (Pair(".config", "mise"), SHELL),
    (Last(".bashrc"), SHELL),
    (Last(".bash_profile"), SHELL),
    (Last(".bash_login"), SHELL),
    (Last(".bash_logout"), SHELL),
    (Last(".bash_aliases"), SHELL),
    (Last(".profile"), SHELL),
    (Last(".zshrc"), SHELL),
    (Last(".zshenv"), SHELL),
    (Last(".zprofile"), SHELL),
    (Last(".zlogin"), SHELL),
    (Last(".zlogout"), SHELL),
    (Last("config.fish"), SHELL),
    (Anywhere(".ssh"), KEYS),
    (Anywhere(".gnupg"), KEYS),
    (Last(".netrc"), KEYS),
    (Last("CLAUDE.md"), INSTRUCTIONS),
    (Last("AGENTS.md"), INSTRUCTIONS),
    (Last("GEMINI.md"), INSTRUCTIONS),
    (Last(".cursorrules"), INSTRUCTIONS),
    (Last(".windsurfrules"), INSTRUCTIONS),
    (Last("copilot-instructions.md"), INSTRUCTIONS),
    (Ending(".pth"), PYTHON),
    (Last("sitecustomize.py"), PYTHON),
    (Last("usercustomize.py"), PYTHON),
    (Last("conftest.py"), PYTHON),
    (Last("pytest.ini"), PYTHON),
    (Last("pyvenv.cfg"), PYTHON),
    (Last("setup.py"), PYTHON),
    (Last("setup.cfg"), PYTHON),
    (Last("pyproject.toml"), PYTHON),
    (Last("tox.ini"), PYTHON),
    (Last("noxfile.py"), PYTHON),
    (Last("manage.py"), PYTHON),
    (Last(".pdbrc"), PYTHON),
    (Last(".pythonrc"), PYTHON),
    (Anywhere("__pycache__"), PYTHON),
    (Ending(".pyc"), PYTHON),
    (Last("Makefile"), BUILD),
    (Last("GNUmakefile"), BUILD),
    (Ending(".mk"), BUILD),
    (Last("CMakeLists.txt"), BUILD),
    (Last("justfile"), BUILD),
    (Last("Taskfile.yml"), BUILD),
    (Last("Rakefile"), BUILD),
    (Last("build.rs"), BUILD),
    (Anywhere(".cargo"), BUILD),
    (Last(".bazelrc"), BUILD),
    (Last("build.gradle"), BUILD),
    (Last("gradlew"), BUILD),
    (Last("meson.build"), BUILD),
    (Last("configure"), BUILD),
    (Last("package.json"), PACKAGES),
    (Last(".npmrc"), PACKAGES),
    (Last(".yarnrc.yml"), PACKAGES),
    (Last(".pnpmfile.cjs"), PACKAGES),
    (Last("requirements.txt"), PACKAGES),
    (Last("uv.toml"), PACKAGES),
    (Last("pip.conf"), PACKAGES),
    (Last("Gemfile"), PACKAGES),
    (Last("composer.json"), PACKAGES),
    (Last(".pre-commit-config.yaml"), PIPELINE),
    (Last("lefthook.yml"), PIPELINE),
    (Anywhere(".github"), PIPELINE),
    (Last(".gitlab-ci.yml"), PIPELINE),
    (Anywhere(".circleci"), PIPELINE),
    (Anywhere(".buildkite"), PIPELINE),
    (Last("Jenkinsfile"), PIPELINE),
    (Last("Dockerfile"), CONTAINER),
    (Last("Containerfile"), CONTAINER),
    (Last("docker-compose.yml"), CONTAINER),
    (Last("docker-compose.yaml"), CONTAINER),
    (Last("compose.yaml"), CONTAINER),
    (Last("compose.yml"), CONTAINER),
    (Last(".env"), CONTAINER),
    (Last(".gitattributes"), GIT_FILE),
    (Last(".gitmodules"), GIT_FILE),
    // A folder with HEAD, objects and refs is a repository, whatever it is called, and its config runs commands.
    (Last("HEAD"), GIT_FILE),
];

/// How far the tools of a host trust `path`, a relative path as the guest wrote it.
pub fn trust_class(path: &[u8]) -> TrustClass {
    let names: Vec<&[u8]> = path
        .split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
        .collect();
    let Some(last) = names.last() else { return Plain };
    let matches = |part: &Part| match part {
        Anywhere(name) => names
            .iter()
            .any(|have| have.eq_ignore_ascii_case(name.as_bytes())),
        Last(name) => last.eq_ignore_ascii_case(name.as_bytes()),
        Ending(end) => {
            last.len() >= end.len() && last[last.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
        }
        Pair(one, other) => names.windows(2).any(|pair| {
            pair[0].eq_ignore_ascii_case(one.as_bytes()) && pair[1].eq_ignore_ascii_case(other.as_bytes())
        }),
    };
    RULES
        .iter()
        .find(|(part, _)| matches(part))
        .map_or(Plain, |(_, class)| *class)
}

/// Names that can be looked up as they are, without reading a folder; whether each one is protected.
fn exact_names() -> impl Iterator<Item = (&'static str, bool)> {
    RULES.iter().filter_map(|(part, class)| match part {
        Anywhere(name) | Last(name) => Some((*name, matches!(class, Protected(_)))),
        Ending(_) | Pair(..) => None,
    })
}

/// Protected names that can be looked up.
pub(super) fn protected_names() -> impl Iterator<Item = &'static str> {
    exact_names().filter_map(|(name, protected)| protected.then_some(name))
}

/// Notable and protected names that can be looked up.
pub(super) fn trusted_names() -> impl Iterator<Item = &'static str> {
    exact_names().map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(path: &str) -> &'static str {
        match trust_class(path.as_bytes()) {
            Plain => "plain",
            Notable(_) => "notable",
            Protected(_) => "protected",
        }
    }

    #[test]
    fn what_runs_by_itself_is_protected() {
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            "vendor/lib/.git/config",
            ".GIT/config",
            ".Git",
            ".hg/hgrc",
            ".vscode/tasks.json",
            "sub/.idea/workspace.xml",
            ".claude/settings.json",
            ".cursor/mcp.json",
            ".mcp.json",
            ".envrc",
            "a/.envrc",
            ".bashrc",
            ".ssh/authorized_keys",
            "x.code-workspace",
            ".devcontainer/a.json",
            ".tool-versions",
            "a/.config/mise/config.toml",
        ] {
            assert_eq!(word(path), "protected", "{path}");
        }
    }

    #[test]
    fn what_a_command_runs_is_notable() {
        for path in [
            "Makefile",
            "sub/makefile",
            "conftest.py",
            "tests/conftest.py",
            "sitecustomize.py",
            "lib/evil.pth",
            "setup.py",
            ".github/workflows/ci.yml",
            ".pre-commit-config.yaml",
            "package.json",
            ".gitattributes",
            "data/HEAD",
            "CLAUDE.md",
            "a/__pycache__/b.cpython-311.pyc",
        ] {
            assert_eq!(word(path), "notable", "{path}");
        }
    }

    #[test]
    fn content_is_plain() {
        for path in [
            "",
            "main.py",
            "git",
            "docs/git.md",
            "a.git",
            ".gitignore",
            "pth",
            "Makefile.txt",
            "src/head.py",
        ] {
            assert_eq!(word(path), "plain", "{path}");
        }
    }
}
