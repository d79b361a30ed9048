//! URLs, where they are allowed.

use super::*;

const WHEEL: &str = "https://example.org/w/x-1.0-py3-none-any.whl";

#[test]
fn a_url_has_one_spelling() {
    let sha = SHA.to_lowercase();
    for (written, spelled) in [
        (format!("X@{WHEEL}"), format!("x @ {WHEEL}")),
        (format!("x[a]  @   {WHEEL}"), format!("x[a] @ {WHEEL}")),
        (
            format!("x @ {WHEEL} ; os_name=='a'"),
            format!("x @ {WHEEL} ; os_name == 'a'"),
        ),
        (
            format!("x @ {WHEEL}#sha256={SHA}"),
            format!("x @ {WHEEL}#sha256={sha}"),
        ),
        (
            format!("x @ {WHEEL} --hash=sha256:{SHA}"),
            format!("x @ {WHEEL}#sha256={sha}"),
        ),
        (
            format!("x @ {WHEEL}#sha256={SHA} ; os_name=='a' --hash=sha256:{sha}"),
            format!("x @ {WHEEL}#sha256={sha} ; os_name == 'a'"),
        ),
        (
            "x @ HTTPS://Example.ORG:8443/x-1.0%2bcpu-1-py3-none-any.whl".into(),
            "x @ https://example.org:8443/x-1.0%2Bcpu-1-py3-none-any.whl".into(),
        ),
        (
            "x @ http://127.0.0.1:80/x-1-py3-none-any.whl".into(),
            "x @ http://127.0.0.1:80/x-1-py3-none-any.whl".into(),
        ),
        (
            "x @ http://[::1]:80/x-1-py3-none-any.whl".into(),
            "x @ http://[::1]:80/x-1-py3-none-any.whl".into(),
        ),
        (
            "x @ file:///srv/w/x-1-py3-none-any.whl".into(),
            "x @ file:///srv/w/x-1-py3-none-any.whl".into(),
        ),
        (
            "foo.bar @ https://example.org/Foo_Bar-1-cp312-cp312-linux_x86_64.whl".into(),
            "foo-bar @ https://example.org/Foo_Bar-1-cp312-cp312-linux_x86_64.whl".into(),
        ),
    ] {
        assert_eq!(canonical(&written, URLS), spelled, "{written}");
        assert_eq!(canonical(&spelled, URLS), spelled);
        assert!(refusal(&written, Allow::default()).contains("--allow-urls"));
    }
}

#[test]
fn what_must_be_built_needs_leave() {
    for text in [
        "x @ https://example.org/x-1.0.tar.gz",
        "x @ https://example.org/archive/main.zip",
        "x @ git+https://example.org/me/x.git",
        "x @ git+https://example.org/me/x@v1.0",
        "x @ git+https://example.org/me/x.git@feature/a#subdirectory=python/x",
    ] {
        assert_eq!(canonical(text, ALL), text);
        assert!(refusal(text, URLS).contains("--allow-builds"), "{text}");
        assert!(
            refusal(
                text,
                Allow {
                    builds: true,
                    urls: false
                }
            )
            .contains("--allow-urls"),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_plain_url_is_refused() {
    let sha = SHA.to_lowercase();
    for text in [
        "https://example.org",
        "https://example.org/",
        "https://example.org/x.exe",
        "https:///x-1-py3-none-any.whl",
        "https://me:secret@example.org/x-1-py3-none-any.whl",
        "https://me@example.org/x-1-py3-none-any.whl",
        "https://example.org:/x-1-py3-none-any.whl",
        "https://example.org:99999/x-1-py3-none-any.whl",
        "https://example.org:+80/x-1-py3-none-any.whl",
        "https://exa_mple.org/x-1-py3-none-any.whl",
        "https://-x.org/x-1-py3-none-any.whl",
        "https://a..b/x-1-py3-none-any.whl",
        "https://0xa9fea9fe/x-1-py3-none-any.whl",
        "https://1.2.3/x-1-py3-none-any.whl",
        "https://[::1/x-1-py3-none-any.whl",
        "https://[::ffff:169.254.1.1]/x-1-py3-none-any.whl",
        "https://example.org/../x-1-py3-none-any.whl",
        "https://example.org/%2e%2E/x-1-py3-none-any.whl",
        "https://example.org/%00/x-1-py3-none-any.whl",
        "https://example.org/%0a/x-1-py3-none-any.whl",
        "https://example.org/a%2fb/x-1-py3-none-any.whl",
        "https://example.org/%zz/x-1-py3-none-any.whl",
        "https://example.org/%+1/x-1-py3-none-any.whl",
        "https://example.org/x-1-py3-none-any.whl%2",
        "https://example.org/x-1-py3-none-any.whl?a=b",
        "https://example.org/x?y=x-1-py3-none-any.whl",
        "https://example.org/$x/x-1-py3-none-any.whl",
        "https://example.org/'x'/x-1-py3-none-any.whl",
        "https://example.org/x-1-py3-none-any.whl#egg=x",
        "https://example.org/x-1-py3-none-any.whl#md5=0",
        "https://example.org/x-1-py3-none-any.whl#",
        "https://example.org/x-1-py3-none-any.whl#subdirectory=a",
        "https://example.org/x-1-py3-none-any.whl;os_name=='a'",
        "https://example.org/x-1-py3-none-any.whl;",
        "https://example.org/y-1-py3-none-any.whl",
        "https://example.org/x-1.whl",
        "https://example.org/x.whl",
        "file://x-1-py3-none-any.whl",
        "file://host/x-1-py3-none-any.whl",
        "file:/x-1-py3-none-any.whl",
        "file:///a/../x-1-py3-none-any.whl",
        "git+http://example.org/x",
        "git+https://example.org",
        "git+https://example.org/",
        "git+https://example.org/x@",
        "git+https://example.org/x@--upload-pack=x",
        "git+https://example.org/x@a/-b",
        "git+https://example.org/x@a..b",
        "git+https://example.org/x@a b",
        "git+https://example.org/x#egg=x",
        "git+https://example.org/x#subdirectory=../y",
        "git+https://example.org/x#subdirectory=/y",
        "git+https://me:secret@example.org/x",
        "git+https://example.org/../x",
        "git+https://example.org/x@a@b",
    ] {
        let message = refusal(&format!("x @ {text}"), ALL);
        assert!(!message.contains("secret"), "{message}");
    }
    refusal(
        &format!("x @ {WHEEL}#sha256={sha} --hash=sha256:{}", "0".repeat(64)),
        ALL,
    );
    refusal(&format!("x @ git+https://example.org/x --hash=sha256:{sha}"), ALL);
    refusal(&format!("x @ {WHEEL} extra"), ALL);
}
