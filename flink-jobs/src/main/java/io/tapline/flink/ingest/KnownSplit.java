package io.tapline.flink.ingest;

import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.kafka.common.TopicPartition;

/**
 * A split with the partition's state at the starting offset (a serialized {@link PartitionState}).
 */
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
