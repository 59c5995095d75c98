package io.tapline.flink.ingest;

import io.tapline.schema.proto.TupleBatch;

/**
 * One Kafka record. Stays within the task that read it: it is never serialised.
 *
 * @param state what is remembered of its partition, which the operator behind the source keeps up
 *     to date
 * @param batch null if the record is none
 * @param fault reason under which such a record is counted; null for a batch
 */
public record Record(int partition, PartitionState state, TupleBatch batch, String fault) {
  Record with(PartitionState remembered) {
    return new Record(partition, remembered, batch, fault);
  }
}
