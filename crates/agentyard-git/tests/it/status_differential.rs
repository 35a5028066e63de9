//! Whatever is done to a working tree, the status is the one that git gives.

use agentyard_git::StatusOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::porcelain::{git_status, sorted};
use crate::steps::{perform, step};
use crate::support::{GO_ON, Yard};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        // A failure is reproduced from its steps, which are printed; tests leave no files behind.
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn status_is_what_git_says(steps in vec(step(), 1..25)) {
        let yard = Yard::new();
        for step in &steps {
            perform(&yard, step);
        }
        for ignored in [false, true] {
            let options = StatusOptions { ignored, ..StatusOptions::default() };
            let ours = yard.open().status(&options, &GO_ON).unwrap();
            prop_assert!(!ours.truncated);
            let mut theirs = git_status(&yard, ignored);
            theirs.operation = ours.operation;
            prop_assert_eq!(sorted(ours), theirs);
        }
        let options = StatusOptions { untracked: false, ..StatusOptions::default() };
        let mut theirs = git_status(&yard, false);
        theirs.untracked.clear();
        let ours = yard.open().status(&options, &GO_ON).unwrap();
        theirs.operation = ours.operation;
        prop_assert_eq!(sorted(ours), theirs);
    }
}
