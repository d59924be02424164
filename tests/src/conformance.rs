//! Conformance: what every implementation of a port must do, as facts that are generic over it. A suite in `tests/` names
//! the implementations and runs each fact over each of them, on a store of its own.

pub mod across;
pub mod agreement;
pub mod digests;
pub mod documents;
pub mod graphs;
pub mod guards;
pub mod items;
pub mod kept;
pub mod lists;
pub mod queues;
pub mod remains;
pub mod timers;
pub mod vault;
pub mod world;

/// Names a test for each fact about a store. Each runs on a store of its own, which `$make().await` gives together with
/// what must be kept as long as the store is.
#[macro_export]
macro_rules! store_facts {
    ($make:path) => {
        $crate::store_facts! { $make:
            guards::{
                of_64_claims_exactly_one_wins,
                what_is_absent_can_be_written_once,
                what_was_seen_can_be_replaced_once,
                nothing_can_have_been_seen_where_nothing_is,
                a_conflict_changes_nothing,
            }
            lists::{
                jobs_come_in_pages_by_id,
                tombstones_are_left_out_of_jobs_and_fill_no_page,
                a_page_of_none_holds_none,
                runs_come_newest_first_inside_their_window,
                runs_go_on_before_the_last_one_seen,
                a_page_before_the_window_is_empty,
                no_tenant_sees_what_is_anothers,
                all_jobs_and_runs_of_everybody_are_gone_through_in_parts,
                a_sample_of_a_list_costs_so_many_looks,
            }
            remains::{
                all_that_lies_under_a_tenant_is_found_and_erased_and_nothing_of_another,
            }
            across::{
                runs_of_all_jobs_come_newest_first,
                runs_at_one_instant_come_by_their_keys,
                pages_of_all_runs_hold_each_run_once,
                more_runs_than_a_store_reads_at_once_are_one_page,
                a_window_of_all_runs_holds_its_start_and_not_its_end,
                a_page_of_all_runs_before_the_window_is_empty,
                a_page_says_where_the_next_begins_and_the_last_that_none_does,
                a_tenants_runs_are_listed_for_nobody_else,
                a_run_is_listed_once_as_it_is_now,
                what_was_never_written_is_not_listed,
                nothing_but_runs_is_listed,
                what_failed_is_listed_with_all_that_timed_out,
                what_was_tried_again_or_dismissed_needs_no_attention,
                the_oldest_dead_letter_is_anybodys,
            }
            documents::{
                a_document_is_found_by_its_name_and_kind,
                a_document_is_replaced_only_as_it_was_seen,
                documents_come_in_pages_by_name,
                every_visible_name_is_listed,
                documents_of_another_tenant_or_kind_are_not_listed,
                documents_are_neither_jobs_nor_runs,
                whatever_a_document_holds_is_found_as_it_was,
            }
            items::{
                an_item_of_a_new_kind_is_kept_and_listed,
                closing_an_edge_twice_changes_nothing,
                of_64_closers_all_succeed_and_exactly_one_sees_the_last_edge_close,
                of_64_takers_of_a_slot_as_many_get_it_as_it_has_room_for,
                a_slot_is_made_by_its_first_taker_and_taken_again_when_it_was_given_back,
                what_is_not_there_is_updated_only_where_the_update_makes_it,
                an_update_is_a_writing_that_a_guard_has_not_seen,
                a_lease_is_extended_only_by_its_own_claim,
                what_was_seen_is_deleted_once_and_nothing_else_is,
                who_saw_a_former_life_can_neither_replace_nor_delete_the_next,
                who_saw_a_former_life_of_a_slot_does_not_delete_the_next,
                what_is_written_once_can_be_deleted,
                what_is_written_once_is_written_again_only_by_who_has_seen_it,
                an_update_that_the_stores_cannot_mean_alike_is_illegal,
                a_deleted_run_is_listed_no_more,
            }
            graphs::{
                of_64_tasks_that_end_at_once_one_closes_the_last_edge_of_their_join,
                of_64_runs_as_many_have_a_place_as_their_workflow_has,
                the_items_of_a_wide_slot_are_listed_with_their_numbers,
            }
            digests::{
                of_ends_that_are_told_while_a_digest_is_closed_it_says_just_those_that_came_before,
                a_digest_takes_as_many_as_it_has_room_for_and_is_closed_once,
                a_digest_in_which_nothing_is_can_be_closed,
            }
            kept::{
                attempts_come_oldest_first,
                writing_an_attempt_again_changes_nothing,
                a_body_of_256_kib_is_found_as_it_was,
                a_run_in_every_state_is_found_as_it_was,
            }
            timers::{
                a_put_timer_overwrites_nothing_of_a_later_generation,
                of_64_putters_of_a_timer_the_latest_generation_stands,
                a_timer_put_if_absent_never_overwrites,
                a_timer_is_erased_only_as_it_was_seen,
                of_many_erasers_one_is_told_that_it_did,
                a_bucket_holds_its_minute_in_order_and_only_that,
                a_bucket_is_read_up_to_a_moment,
                a_bucket_comes_in_pages_after_the_last_timer_seen,
                a_bucket_outside_of_time_is_empty,
                a_timer_knows_its_tenant,
                every_timer_lies_in_one_shard_of_its_minute,
            }
        }
    };
    ($make:path: $($room:ident :: { $($fact:ident),* $(,)? })*) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $fact() {
                let (store, _kept) = $make().await;
                $crate::conformance::$room::$fact(std::sync::Arc::new(store)).await;
            }
        )*)*
    };
}
