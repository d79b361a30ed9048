# claim: The guest's environment is the documented list and holds nothing of the caller's.
# case: ENV-01, RS-04
# class: HostLeak
# control: without environment
# expect: names beyond the list = [] -> ["API_KEY"*
# expect: names that are missing = []
# expect: secret = no -> yes
# expect: HOME = /tmp/home -> !/tmp/home
# expect: USER = guest
import json
import os

LIST = """HF_HOME HOME IPYTHONDIR JE_ARROW_MALLOC_CONF JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR LANG
LOGNAME LOKY_MAX_CPU_COUNT MKL_NUM_THREADS MPLCONFIGDIR NUMBA_CACHE_DIR NUMBA_NUM_THREADS NUMEXPR_NUM_THREADS
OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH POLARS_MAX_THREADS PYTHONDONTWRITEBYTECODE PYTHONNOUSERSITE PYTHON_CPU_COUNT
RAYON_NUM_THREADS TMPDIR USER XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME""".split()


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("names beyond the list", json.dumps(sorted(set(os.environ) - set(LIST))))
tell("names that are missing", json.dumps(sorted(set(LIST) - set(os.environ))))
tell("secret", "yes" if any("canary-7f3a" in value for value in os.environ.values()) else "no")
tell("HOME", os.environ["HOME"])
tell("USER", os.environ["USER"])
