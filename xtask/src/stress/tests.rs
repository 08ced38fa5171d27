use super::*;

#[test]
fn programs_of_tests_are_found_with_the_folder_of_their_package() {
    let artifact = |name: &str, is_test: bool, program: &str| {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///x#a@0.1.0\",\
             \"manifest_path\":\"/x/Cargo.toml\",\"target\":{{\"kind\":[\"test\"],\"crate_types\":[\"bin\"],\
             \"name\":\"{name}\",\"src_path\":\"/x/{name}.rs\",\"edition\":\"2024\",\"doc\":false,\
             \"doctest\":false,\"test\":true}},\"profile\":{{\"opt_level\":\"0\",\"debuginfo\":0,\
             \"debug_assertions\":true,\"overflow_checks\":true,\"test\":{is_test}}},\"features\":[],\
             \"filenames\":[],\"executable\":{program},\"fresh\":true}}\n"
        )
    };
    let json = artifact("pair", true, "\"/t/pair\"")
        + &artifact("tool", false, "\"/t/tool\"")
        + &artifact("library", true, "null");
    let expected = BTreeMap::from([(PathBuf::from("/t/pair"), PathBuf::from("/x"))]);
    assert_eq!(programs(json.as_bytes()), expected);
}

#[test]
fn a_list_without_entries_names_no_test() {
    assert!(names_a_test("a::b: test\n"));
    assert!(!names_a_test("\n") && !names_a_test("a::b: benchmark\n"));
}
