//! The guest's environment: nothing is inherited; every variable is from here or from the policy.

use std::collections::BTreeMap;

use crate::policy::Policy;
use crate::python::Interpreter;

/// The guest's home: beside /jar, so that tools' caches are not among what the run leaves there.
pub(crate) const HOME: &str = "/tmp/home";

/// Where matplotlib keeps its settings and caches.
pub(crate) const MATPLOTLIB: &str = "/tmp/home/.config/matplotlib";

/// Folders below HOME that tools are pointed to.
const CACHES: [(&str, &str); 11] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("MPLCONFIGDIR", ".config/matplotlib"),
    ("JUPYTER_CONFIG_DIR", ".jupyter"),
    ("JUPYTER_DATA_DIR", ".local/share/jupyter"),
    ("JUPYTER_RUNTIME_DIR", ".local/share/jupyter/runtime"),
    ("IPYTHONDIR", ".ipython"),
    ("NUMBA_CACHE_DIR", ".cache/numba"),
    ("HF_HOME", ".cache/huggingface"),
];

/// Thread pools would otherwise size themselves by the host's processors and hit the process limit.
const THREADS: [&str; 9] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "PYTHON_CPU_COUNT",
];

/// pyarrow's allocator starts a thread at import, with which no worker could be forked from a template.
const ALLOCATOR: (&str, &str) = ("JE_ARROW_MALLOC_CONF", "background_thread:false");

/// Whether belljar sets this variable itself. The others are the policy's own; they may be secrets, and no template gets them.
pub(crate) fn is_ours(name: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "PATH",
        "HOME",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "LANG",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONNOUSERSITE",
        "VIRTUAL_ENV",
    ];
    OTHERS.contains(&name)
        || name == ALLOCATOR.0
        || THREADS.contains(&name)
        || CACHES.iter().any(|(cache, _)| *cache == name)
}

pub(super) fn environment(policy: &Policy, python: &Interpreter) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        env.insert(name.to_owned(), value.to_owned());
    };
    let mut path = vec!["/usr/local/bin", "/usr/bin", "/bin"];
    if let Some(folder) = python.executable.parent().and_then(|folder| folder.to_str()) {
        path.retain(|other| *other != folder);
        path.insert(0, folder);
    }
    set("PATH", &path.join(":"));
    set("HOME", HOME);
    set("TMPDIR", "/tmp");
    set("USER", "guest");
    set("LOGNAME", "guest");
    set("LANG", "C.UTF-8");
    for (name, folder) in CACHES {
        set(name, &format!("{HOME}/{folder}"));
    }
    let threads = (policy.limits.cpus.ceil() as u32).max(1).to_string();
    for name in THREADS {
        set(name, &threads);
    }
    set(ALLOCATOR.0, ALLOCATOR.1);
    set("PYTHONDONTWRITEBYTECODE", "1");
    set("PYTHONNOUSERSITE", "1");
    if let Some(venv) = &python.venv {
        set("VIRTUAL_ENV", &venv.to_string_lossy());
    }
    env.extend(policy.env.clone());
    env
}
