//! Builds an environment with packages, once, and shows it to jars. Needs uv and an index.
//!
//!     cargo run --example environments -- 'six>=1.16'

use belljar::environment::Wish;
use belljar::requirement::{Allow, Requirements};
use belljar::{Environments, Sandbox, python};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wish = Wish {
        requirements: Requirements::from_list(asked.iter().map(String::as_str), Allow::default())?,
        interpreter: python::find(None, None)?,
        allow: Allow::default(),
        refresh: false,
    };
    let environment = Environments::of_this_user(None)?.get(&wish, &mut |_| ())?;
    let modules = environment.modules();
    let jar = Sandbox::builder().environment(environment).build()?;
    for module in modules {
        assert!(jar.run(format!("import {module}"))?.success(), "{module}");
    }
    Ok(())
}
