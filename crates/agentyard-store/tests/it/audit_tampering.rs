//! Whoever changes the log behind our back is found out.

use agentyard_model::TenantId;
use agentyard_store::{AuditFault, AuditFaultKind, AuditVerification};
use agentyard_testkit::databases::TestDatabase;
use agentyard_testkit::on_both_databases;

use crate::support::event;

const LOCAL: &str = "'ten_00000000000000000000000000000001'";

/// Writes five rows, does the damage, and looks.
async fn verify_after(database: &TestDatabase, damage: &str) -> AuditVerification {
    for _ in 0..5 {
        database.store.audit().append(&event("look")).await.unwrap();
    }
    database.execute(damage).await;
    database.store.audit().verify(None).await.unwrap()
}

async fn check(database: &TestDatabase, damage: &str, sequence: i64, what: AuditFaultKind, good: u64) {
    assert_eq!(
        verify_after(database, damage).await,
        AuditVerification {
            tenants: 1,
            records: good,
            first_fault: Some(AuditFault {
                tenant: TenantId::LOCAL,
                sequence,
                what,
            }),
        }
    );
}

on_both_databases!(an_untouched_log_is_good, async |database| {
    let verification = verify_after(database, "SELECT 1").await;
    assert_eq!((verification.records, verification.first_fault), (5, None));
});

on_both_databases!(a_changed_row, async |database| {
    let damage = "UPDATE audit SET actor = 'somebody else' WHERE sequence = 3";
    check(database, damage, 3, AuditFaultKind::Changed, 2).await;
});

on_both_databases!(a_changed_time, async |database| {
    let damage = "UPDATE audit SET at = at + 1 WHERE sequence = 5";
    check(database, damage, 5, AuditFaultKind::Changed, 4).await;
});

on_both_databases!(a_boundary_moved_between_two_fields, async |database| {
    let damage = "UPDATE audit SET action = 'loo', target = 'k' || target WHERE sequence = 1";
    check(database, damage, 1, AuditFaultKind::Changed, 0).await;
});

on_both_databases!(a_row_deleted_from_the_middle, async |database| {
    let damage = "DELETE FROM audit WHERE sequence = 3";
    check(database, damage, 3, AuditFaultKind::Missing, 2).await;
});

on_both_databases!(the_first_row_deleted, async |database| {
    let damage = "DELETE FROM audit WHERE sequence = 1";
    check(database, damage, 1, AuditFaultKind::Missing, 0).await;
});

on_both_databases!(the_last_row_deleted, async |database| {
    let damage = "DELETE FROM audit WHERE sequence = 5";
    check(database, damage, 5, AuditFaultKind::Missing, 4).await;
});

on_both_databases!(all_rows_deleted, async |database| {
    check(database, "DELETE FROM audit", 1, AuditFaultKind::Missing, 0).await;
});

on_both_databases!(the_last_row_deleted_and_the_head_moved_back, async |database| {
    let damage = "DELETE FROM audit WHERE sequence = 5; UPDATE audit_heads SET sequence = 4";
    check(database, damage, 4, AuditFaultKind::WrongHead, 4).await;
});

on_both_databases!(the_head_moved_back, async |database| {
    let damage = "UPDATE audit_heads SET sequence = 4, hash = (SELECT hash FROM audit WHERE sequence = 4)";
    check(database, damage, 5, AuditFaultKind::BeyondHead, 4).await;
});

on_both_databases!(the_head_deleted, async |database| {
    check(
        database,
        "DELETE FROM audit_heads",
        5,
        AuditFaultKind::WrongHead,
        0,
    )
    .await;
});

on_both_databases!(two_rows_swapped, async |database| {
    let damage = "UPDATE audit SET sequence = 99 WHERE sequence = 2; \
         UPDATE audit SET sequence = 2 WHERE sequence = 3; \
         UPDATE audit SET sequence = 3 WHERE sequence = 99";
    check(database, damage, 2, AuditFaultKind::Changed, 1).await;
});

on_both_databases!(a_deletion_covered_by_renumbering, async |database| {
    let damage = "DELETE FROM audit WHERE sequence = 2; \
         UPDATE audit SET sequence = sequence - 1 WHERE sequence = 3; \
         UPDATE audit SET sequence = sequence - 1 WHERE sequence = 4; \
         UPDATE audit SET sequence = sequence - 1 WHERE sequence = 5; \
         UPDATE audit_heads SET sequence = 4";
    check(database, damage, 2, AuditFaultKind::Changed, 1).await;
});

on_both_databases!(a_row_that_does_not_continue_the_one_before, async |database| {
    // A row of the log's own making, put where it does not belong: the second and last row
    // of another chain, good in itself.
    let forked = database.another_store();
    database.store.audit().append(&event("look")).await.unwrap();
    let genesis = "0".repeat(64);
    database
        .execute(&format!(
            "CREATE TABLE kept AS SELECT * FROM audit; DELETE FROM audit; \
             UPDATE audit_heads SET sequence = 0, hash = '{genesis}'"
        ))
        .await;
    forked.audit().append(&event("look")).await.unwrap();
    forked.audit().append(&event("look")).await.unwrap();
    database
        .execute("DELETE FROM audit WHERE sequence = 1; INSERT INTO audit SELECT * FROM kept")
        .await;
    let verification = database.store.audit().verify(None).await.unwrap();
    let fault = verification.first_fault.unwrap();
    assert_eq!((fault.sequence, fault.what), (2, AuditFaultKind::Detached));
    assert_eq!(
        fault.to_string(),
        format!(
            "audit record 2 of {} does not continue the record before it",
            TenantId::LOCAL
        )
    );
    forked.close().await;
});

on_both_databases!(a_row_slipped_in_before_the_first, async |database| {
    let damage = format!(
        "INSERT INTO audit VALUES ({LOCAL}, 0, 'aud_1', 0, 'a', '[]', 'b', 'c', 'd', 'done', 'e', 'f')"
    );
    check(database, &damage, 0, AuditFaultKind::Detached, 0).await;
});

on_both_databases!(a_row_slipped_in_after_the_last, async |database| {
    let damage = format!(
        "INSERT INTO audit VALUES ({LOCAL}, 6, 'aud_1', 0, 'a', '[]', 'b', 'c', 'd', 'done', 'e', 'f')"
    );
    check(database, &damage, 6, AuditFaultKind::BeyondHead, 5).await;
});
