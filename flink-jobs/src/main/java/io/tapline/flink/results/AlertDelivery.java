package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * An alert for one receiver.
 *
 * @param url URL to which the alert is posted
 * @param json the alert as JSON, as in Redis
 */
record AlertDelivery(String url, String json) {
  private void write(DataOutput out) throws IOException {
    Wire.writeText(out, url);
    Wire.writeText(out, json);
  }

  private static AlertDelivery read(DataInput in) throws IOException {
    return new AlertDelivery(Wire.readText(in), Wire.readText(in));
  }

  /** Serializes deliveries for checkpoints. */
  static final class Serializer implements SimpleVersionedSerializer<AlertDelivery> {
    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(AlertDelivery delivery) throws IOException {
      DataOutputSerializer out = new DataOutputSerializer(512);
      delivery.write(out);
      return out.getCopyOfBuffer();
    }

    @Override
    public AlertDelivery deserialize(int version, byte[] bytes) throws IOException {
      return read(new DataInputDeserializer(bytes));
    }
  }
}
