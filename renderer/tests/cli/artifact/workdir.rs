//! `artifact`: the working folder.

use super::{Hub, folder, two};
use crate::Run;

#[test]
fn two_imports_in_one_folder_exclude_each_other() {
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let lock = std::fs::File::create(work.join("lock")).unwrap();
    lock.lock().unwrap();
    let hub = Hub::start(two());
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("in use by another import"), "{}", run.stderr);
}
