//! The answer to a batch, entry by entry. An entry is named by its index in the batch.

use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::PORT;
use crate::Fault;

/// The outcome of each of `count` entries. An entry that the answer does not name may or may not have been processed.
pub(super) fn answers<'a>(
    count: usize,
    successful: impl Iterator<Item = &'a str>,
    failed: &[BatchResultErrorEntry],
    judge: impl Fn(&BatchResultErrorEntry) -> Result<(), Fault>,
) -> Vec<Result<(), Fault>> {
    let mut answers = vec![Err(Fault::unavailable(PORT, "SQS did not say what became of it")); count];
    let named = successful.map(|id| (id, Ok(()))).chain(failed.iter().map(|entry| (entry.id(), judge(entry))));
    for (id, answer) in named {
        if let Some(slot) = id.parse().ok().and_then(|index: usize| answers.get_mut(index)) {
            *slot = answer;
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_its_own_answer_and_an_entry_without_one_is_unavailable() {
        let failed =
            BatchResultErrorEntry::builder().id("2").sender_fault(false).code("InternalError").build().unwrap();
        let judge = |entry: &BatchResultErrorEntry| Err(Fault::illegal("judged", entry.code()));

        let answers = answers(4, ["0", "3", "9", "x"].into_iter(), &[failed], judge);

        assert_eq!((&answers[0], &answers[3]), (&Ok(()), &Ok(())));
        assert_eq!(answers[2], Err(Fault::illegal("judged", "InternalError")));
        assert!(matches!(answers[1], Err(Fault::Unavailable { .. })), "{:?}", answers[1]);
    }
}
