//! Which variables a guest may be given. Names are compared without regard to case: some programs read both.

use super::{EnvProblem, PolicyError};

const MOST_VARIABLES: usize = 256;
const LONGEST_VALUE: usize = 32 << 10;

/// Variables that make the loader, libc, a shell or another runtime run code, or read files, of their choice.
const DANGEROUS: [&str; 26] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS4",
    "RES_OPTIONS",
    "RESOLV_HOST_CONF",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "TZDIR",
    "CDPATH",
];
const DANGEROUS_PREFIXES: [&str; 4] = ["LD_", "MALLOC_", "BASH_FUNC_", "DYLD_"];

/// Of Python's own variables, the ones that tune it; every other one, also of later versions, says what code it loads.
const PYTHON_TUNING: [&str; 19] = [
    "PYTHONASYNCIODEBUG",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONINTMAXSTRDIGITS",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONNODEBUGRANGES",
    "PYTHONOPTIMIZE",
    "PYTHONPROFILEIMPORTTIME",
    "PYTHONTRACEMALLOC",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONVERBOSE",
    "PYTHONWARNINGS",
    "PYTHON_COLORS",
    "PYTHON_CPU_COUNT",
    "PYTHON_GIL",
];

/// Variables that belljar points into the jar.
const OWN: [&str; 22] = [
    "HOME",
    "HF_HOME",
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "LOGNAME",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "OLDPWD",
    "PWD",
    "SHELL",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Refuses a name that a guest must not be given.
pub(super) fn check_name(name: &str) -> Result<(), PolicyError> {
    let upper = name.to_ascii_uppercase();
    let problem = if name.is_empty()
        || name.len() > 256
        || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=')
    {
        EnvProblem::Name
    } else if DANGEROUS.contains(&upper.as_str())
        || DANGEROUS_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || upper.starts_with("PYTHON") && !PYTHON_TUNING.contains(&upper.as_str())
    {
        EnvProblem::Dangerous
    } else if OWN.contains(&upper.as_str()) || upper.starts_with("BELLJAR_") {
        EnvProblem::Own
    } else {
        return Ok(());
    };
    Err(PolicyError::Env {
        name: name.chars().take(64).collect(),
        problem,
    })
}

/// Refuses a value that a terminal, a log or the kernel would stumble over.
pub(super) fn check_value(name: &str, value: &str) -> Result<(), PolicyError> {
    let problem = if value.len() > LONGEST_VALUE {
        EnvProblem::Long
    } else if value.chars().any(char::is_control) {
        EnvProblem::Control
    } else {
        return Ok(());
    };
    Err(PolicyError::Env {
        name: name.chars().take(64).collect(),
        problem,
    })
}

/// Refuses more variables than a guest may be given.
pub(super) fn check_count(count: usize) -> Result<(), PolicyError> {
    if count <= MOST_VARIABLES {
        Ok(())
    } else {
        Err(PolicyError::ManyVariables {
            count,
            most: MOST_VARIABLES,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(name: &str, value: &str) -> Option<EnvProblem> {
        match check_name(name).and_then(|()| check_value(name, value)) {
            Ok(()) => None,
            Err(PolicyError::Env { problem, .. }) => Some(problem),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn plain_variables_pass() {
        for name in [
            "API_URL",
            "LANG",
            "TZ",
            "OMP_NUM_THREADS",
            "PYTHONHASHSEED",
            "pythonutf8",
            "MPLBACKEND",
            "npm.x-y",
        ] {
            assert_eq!(problem(name, "value with spaces, ünïcode = fine"), None, "{name}");
        }
    }

    #[test]
    fn dangerous_names_are_refused_in_any_case() {
        let names = "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT ld_preload GLIBC_TUNABLES PYTHONSTARTUP PYTHONPATH PythonPath PYTHONHOME \
                     PYTHONINSPECT PYTHONEXECUTABLE PYTHONPLATLIBDIR PYTHONUSERBASE PYTHONBREAKPOINT PYTHONPYCACHEPREFIX PYTHONTOMORROW \
                     BASH_ENV ENV env NODE_OPTIONS PATH Path IFS SHELLOPTS PS4 PERL5OPT RUBYOPT MALLOC_CHECK_ GCONV_PATH LOCPATH NLSPATH \
                     HOSTALIASES RESOLV_HOST_CONF BASH_FUNC_ls%%";
        for name in names.split_whitespace() {
            assert_eq!(problem(name, ""), Some(EnvProblem::Dangerous), "{name}");
        }
    }

    #[test]
    fn own_and_broken_names_and_values_are_refused() {
        for name in ["HOME", "TMPDIR", "XDG_CACHE_HOME", "belljar_bin", "MPLCONFIGDIR"] {
            assert_eq!(problem(name, ""), Some(EnvProblem::Own), "{name}");
        }
        for name in ["", "A=B", "A B", "A\n", "A\0", "\u{1b}[2J", "É"] {
            assert_eq!(problem(name, ""), Some(EnvProblem::Name), "{name:?}");
        }
        for value in ["\0", "a\nb", "\u{1b}]0;x", "\u{9b}"] {
            assert_eq!(problem("A", value), Some(EnvProblem::Control), "{value:?}");
        }
        assert_eq!(problem("A", &"x".repeat(LONGEST_VALUE)), None);
        assert_eq!(
            problem("A", &"x".repeat(LONGEST_VALUE + 1)),
            Some(EnvProblem::Long)
        );
        assert!(check_count(256).is_ok() && check_count(257).is_err());
    }
}
