package io.tapline.flink.ingest;

import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.kafka.common.TopicPartition;

/** A partition with what was remembered of it at its offset (a written {@link PartitionState}). */
final class KnownSplit extends KafkaPartitionSplit {
  private final byte[] memory;

  KnownSplit(TopicPartition partition, long startingOffset, byte[] memory) {
    super(partition, startingOffset);
    this.memory = memory;
  }

  byte[] memory() {
    return memory;
  }
}
