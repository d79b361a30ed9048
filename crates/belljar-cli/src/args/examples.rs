//! Help that teaches by example. A test runs every line as written, given the files that it names.

pub const BELLJAR: &str = "\
Examples:
  belljar run -c 'print(1 + 1)'                    code, in a fresh jar
  belljar run script.py --its-own --flags          a script; belljar's own options come first
  belljar run --workdir . --draft fix.py           list changes to a folder, keep none
  belljar exec -- ls -la /                         any program: look around inside
  belljar shell                                    interactive Python
  belljar doctor                                   what this host can enforce

Exit code: the program's own; 124 timed out; 137 out of memory; 128+N died by signal N;
130 cancelled; 125 belljar could not run it.";

pub const RUN: &str = "\
Examples:
  belljar run -c 'print(1 + 1)'
  belljar run script.py input.csv --verbose        words after the script are its arguments
  echo 'print(6 * 7)' | belljar run -              code from stdin
  belljar run --timeout 5s --memory 256M script.py
  belljar run --with 'pandas>=2' script.py         with packages
  belljar run --venv .venv -m pytest               a module, from a virtualenv
  belljar run --collect out -c 'open(\"plot.txt\", \"w\").write(\"x\")'
  belljar run --workdir . --draft fix.py           list the changes; --apply keeps them
  belljar run --each *.py                          many scripts at once, with a table
  belljar run --each --jobs 4 --preload csv script.py fix.py -- --fast

Exit code: the program's own; 124 timed out; 137 out of memory; 128+N died by signal N;
130 cancelled; 125 belljar could not run it. With --each: 0 if every script ended well,
1 if one did not, 125 if belljar could not run one, 130 cancelled.";

pub const EXEC: &str = "\
Examples:
  belljar exec -- ls -la /
  belljar exec -- sh -c 'echo $HOME; id'
  belljar exec --mount data:/data -- du -sh /data
  belljar exec --timeout 5s --memory 256M -- python3 -V
  tar c src | belljar exec --collect copy -- tar xv

Exit code: the program's own; 124 timed out; 137 out of memory; 128+N died by signal N;
130 cancelled; 125 belljar could not run it.";

pub const SHELL: &str = "\
Examples:
  belljar shell
  belljar shell --venv .venv
  belljar shell --mount data:/data --memory 4G
  belljar shell --workdir . --draft
  belljar shell --timeout 10m                      no timeout unless you give one";

pub const ENV: &str = "\
Examples:
  belljar env list                                 packages, size and last use of each
  belljar env build numpy 'pandas>=2'              build ahead of time
  belljar env build -r requirements.txt --script script.py
  belljar env prune --older-than 30d --dry-run     list what it would remove
  belljar env prune --max-size 5G                  removes the least recently used first";

pub const PLAN: &str = "\
Examples:
  belljar plan                                     the defaults
  belljar plan --venv .venv --network loopback
  belljar plan --policy policy.toml --profile ci script.py
  belljar plan --require-layer cgroup              exits with 125 if the layer is missing
  belljar plan --json";

pub const DOCTOR: &str = "\
Examples:
  belljar doctor
  belljar doctor --json
  belljar doctor --quiet && echo sealed works here

Exit code: 0 if the tier sealed works here, otherwise 1.";

pub const COMPLETIONS: &str = "\
Examples:
  belljar completions bash > ~/.local/share/bash-completion/completions/belljar
  belljar completions zsh > ~/.zfunc/_belljar
  belljar completions fish > ~/.config/fish/completions/belljar.fish";

pub const MAN: &str = "\
Examples:
  belljar man | man -l -
  belljar man run | man -l -
  belljar man > ~/.local/share/man/man1/belljar.1";
