package io.tapline.flink.ingest;

import io.tapline.schema.proto.TupleBatch;

/**
 * One Kafka record, or a notification that monitors of a partition became silent or no longer count
 * as silent. It stays within the task that read it and is never serialized.
 *
 * @param offset offset in the partition; -1 for a notification
 * @param state state of the partition, which the operator after the source updates
 * @param batch null if the record is not a batch
 * @param fault reason under which a record that is not a batch is counted; null for a batch
 */
public record Record(
    int partition, long offset, PartitionState state, TupleBatch batch, String fault) {
  /** Returns a notification that {@link PartitionState#isSilent} has changed for some monitors. */
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
