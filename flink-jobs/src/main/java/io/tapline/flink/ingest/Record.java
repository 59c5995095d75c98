package io.tapline.flink.ingest;

import io.tapline.schema.proto.TupleBatch;

/**
 * One Kafka record, or the news that a partition's monitors say nothing or speak again. Stays
 * within the task that read it: it is never serialised.
 *
 * @param offset in its partition
 * @param state what is remembered of its partition, which the operator behind the source keeps up
 *     to date
 * @param batch null if the record is none
 * @param fault reason under which such a record is counted; null for a batch
 */
public record Record(
    int partition, long offset, PartitionState state, TupleBatch batch, String fault) {
  /** No record: {@link PartitionState#isSilent} has changed. */
  static Record silence(PartitionState state) {
    return new Record(state.partition, -1, state, null, null);
  }

  boolean isSilence() {
    return batch == null && fault == null;
  }

  Record with(PartitionState remembered) {
    return new Record(partition, offset, remembered, batch, fault);
  }
}
