use std::fs;
use std::path::PathBuf;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    around: Around,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            around: Around::default(),
        }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.around.variables.insert(name.into(), value.into());
        self
    }

    fn uv(mut self, text: &str) -> Self {
        let path = self.file(&format!("uv{}.toml", self.around.uv.len()), text);
        self.around.uv.push(path);
        self
    }

    fn pip(mut self, text: &str) -> Self {
        let path = self.file(&format!("pip{}.conf", self.around.pip.len()), text);
        self.around.pip.push(path);
        self
    }

    fn read(&self) -> IndexSettings {
        IndexSettings::read(&self.around).unwrap()
    }
}

fn variable<'a>(settings: &'a IndexSettings, name: &str) -> Option<&'a str> {
    settings.variables.get(name).map(String::as_str)
}

#[test]
fn of_uv_only_what_names_packages_is_kept() {
    let settings = Place::new()
        .uv("index-url = 'https://a.example/simple'\ncache-dir = '/x'\n[pip]\nfind-links = ['/y']\nbreak-system-packages = true\n")
        .set("UV_CACHE_DIR", "/x")
        .set("UV_INDEX_MINE_PASSWORD", "p")
        .set("HOME", "/home/x")
        .set("https_proxy", "http://proxy.example")
        .read();
    assert_eq!(
        settings.file.keys().collect::<Vec<_>>(),
        ["find-links", "index-url"]
    );
    assert_eq!(
        settings.variables.keys().collect::<Vec<_>>(),
        ["UV_INDEX_MINE_PASSWORD", "https_proxy"]
    );
}

#[test]
fn the_nearer_file_of_uv_wins_and_lists_are_joined() {
    let settings = Place::new()
        .uv("index-url = 'https://far.example'\nfind-links = ['far']")
        .uv("index-url = 'https://near.example'\nfind-links = ['near']")
        .read();
    assert_eq!(settings.file["index-url"].as_str(), Some("https://near.example"));
    assert_eq!(
        settings.file["find-links"],
        toml::Value::from(vec!["near", "far"])
    );
}

#[test]
fn pips_settings_become_uvs() {
    let settings = Place::new()
        .pip("[global]\nindex-url = https://a.example/simple\nextra-index-url =\n    https://b.example\n    https://c.example\ntrusted-host: a.example\n[freeze]\ntimeout = 1\n[install]\nno_index = yes\n")
        .set("PIP_FIND_LINKS", "/x /y")
        .set("PIP_DEFAULT_TIMEOUT", "180")
        .read();
    assert_eq!(
        variable(&settings, "UV_DEFAULT_INDEX"),
        Some("https://a.example/simple")
    );
    assert_eq!(
        variable(&settings, "UV_INDEX"),
        Some("https://b.example https://c.example")
    );
    assert_eq!(variable(&settings, "UV_FIND_LINKS"), Some("/x,/y"));
    assert_eq!(variable(&settings, "UV_INSECURE_HOST"), Some("a.example"));
    assert_eq!(variable(&settings, "UV_HTTP_TIMEOUT"), Some("180"));
    assert_eq!(settings.file["no-index"].as_bool(), Some(true));
}

#[test]
fn uvs_own_settings_go_before_pips() {
    let settings = Place::new()
        .uv("index-url = 'https://uv.example'")
        .pip("[global]\nindex-url = https://pip.example\n")
        .set("UV_FIND_LINKS", "/uv")
        .set("PIP_FIND_LINKS", "/pip")
        .read();
    assert_eq!(variable(&settings, "UV_DEFAULT_INDEX"), None);
    assert_eq!(variable(&settings, "UV_FIND_LINKS"), Some("/uv"));
}

#[test]
fn the_identity_tells_indexes_apart_and_no_secret() {
    let with = |url: &str| Place::new().set("UV_DEFAULT_INDEX", url).read().identity();
    assert_eq!(
        with("https://u:secret@a.example/s"),
        with("https://v:other@a.example/s")
    );
    assert_ne!(with("https://a.example/s"), with("https://b.example/s"));
    assert!(!with("https://u:secret@a.example/s").contains("secret"));
    let timeout = Place::new().set("UV_HTTP_TIMEOUT", "3").read().identity();
    assert_eq!(timeout, Place::new().read().identity());
}

#[test]
fn local_folders_and_certificates_are_shown() {
    let place = Place::new();
    let cert = place.file("ca.pem", "x");
    let folder = place.folder.path().to_path_buf();
    let place = place
        .set("SSL_CERT_FILE", cert.to_str().unwrap())
        .set(
            "UV_FIND_LINKS",
            &format!("{},https://a.example/x,/nowhere", folder.display()),
        )
        .set("UV_INDEX", "/etc /proc /usr");
    assert_eq!(place.read().shown, [folder, cert]);
}

#[test]
fn a_netrc_is_cut_down_to_the_hosts_of_indexes() {
    let mut place = Place::new().set("UV_DEFAULT_INDEX", "https://a.example:8443/simple");
    place.around.netrc = Some(place.file(
        "netrc",
        "machine a.example login me password p\nmachine git.example login me password q\n",
    ));
    assert_eq!(place.read().netrc, "machine a.example login me password p\n");
}

#[test]
fn a_file_that_is_none_is_named() {
    let place = Place::new().uv("index-url = ");
    let error = IndexSettings::read(&place.around).unwrap_err().to_string();
    assert!(
        error.contains("uv0.toml") && error.contains("UV_NO_CONFIG"),
        "{error}"
    );
    let place = Place::new().pip("[global]\nwhat\n");
    assert!(
        IndexSettings::read(&place.around)
            .unwrap_err()
            .to_string()
            .contains("pip0.conf")
    );
}

#[test]
fn hosts_and_secrets_of_urls() {
    assert_eq!(host("https://u:p@h.example:80/x"), Some("h.example"));
    assert_eq!(host("/x"), None);
    assert_eq!(
        without_secrets("a https://u:p@h/x, http://h2 \"https://t@h3\""),
        "a https://h/x, http://h2 \"https://h3\""
    );
}
