package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import io.tapline.flink.accounting.Ledger;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * A bucket's report to the results operator.
 *
 * @param watermarkNs every window of this bucket that ends at or before this time has been reported
 * @param observedNs end of the observation; {@link Long#MAX_VALUE} until all monitors have ended
 * @param accounts counts since the last report
 */
public record BucketReport(
    int bucket, long watermarkNs, long observedNs, Ledger accounts, List<WindowRows> windows) {

  public byte[] toBytes() throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(256);
    Wire.writeUnsigned(out, bucket);
    out.writeLong(watermarkNs);
    out.writeLong(observedNs);
    out.writeBoolean(!accounts.isEmpty());
    if (!accounts.isEmpty()) {
      accounts.write(out);
    }
    Wire.writeUnsigned(out, windows.size());
    for (WindowRows window : windows) {
      window.write(out);
    }
    return out.getCopyOfBuffer();
  }

  static BucketReport read(byte[] bytes, int processors, long slotNs) throws IOException {
    DataInputDeserializer in = new DataInputDeserializer(bytes);
    int bucket = (int) Wire.readUnsigned(in);
    long watermark = in.readLong();
    long observed = in.readLong();
    Ledger accounts = new Ledger(processors, slotNs);
    if (in.readBoolean()) {
      accounts.read(in);
    }
    int count = (int) Wire.readUnsigned(in);
    List<WindowRows> windows = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      windows.add(WindowRows.read(in));
    }
    return new BucketReport(bucket, watermark, observed, accounts, windows);
  }
}
