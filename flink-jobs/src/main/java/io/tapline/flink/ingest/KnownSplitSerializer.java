package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import java.io.IOException;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplitSerializer;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * Writes a split in the connector's format, followed by its state, which is empty if the split has
 * not been read yet.
 */
final class KnownSplitSerializer implements SimpleVersionedSerializer<KafkaPartitionSplit> {
  private final KafkaPartitionSplitSerializer plain = new KafkaPartitionSplitSerializer();

  @Override
  public int getVersion() {
    return 3;
  }

  @Override
  public byte[] serialize(KafkaPartitionSplit split) throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(64);
    out.writeInt(plain.getVersion());
    Wire.writeBytes(out, plain.serialize(split));
    Wire.writeBytes(out, split instanceof KnownSplit known ? known.memory() : new byte[0]);
    return out.getCopyOfBuffer();
  }

  @Override
  public KafkaPartitionSplit deserialize(int version, byte[] bytes) throws IOException {
    if (version != getVersion()) {
      throw new IOException(
          "checkpoint has splits of version " + version + ", not " + getVersion());
    }
    DataInputDeserializer in = new DataInputDeserializer(bytes);
    KafkaPartitionSplit split = plain.deserialize(in.readInt(), Wire.readBytes(in));
    byte[] memory = Wire.readBytes(in);
    return memory.length == 0
        ? split
        : new KnownSplit(split.getTopicPartition(), split.getStartingOffset(), memory);
  }
}
