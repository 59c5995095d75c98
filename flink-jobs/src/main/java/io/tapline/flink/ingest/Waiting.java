package io.tapline.flink.ingest;

import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.Exemplars;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** A value that waits for the watermark to pass its tuple. */
record Waiting(
    long timeNs, FlowId id, byte[][] keyParts, PairedValue value, double rate, Exemplar exemplar)
    implements Comparable<Waiting> {

  @Override
  public int compareTo(Waiting other) {
    return Long.compare(timeNs, other.timeNs);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(timeNs);
    id.write(out);
    Flow.writeParts(out, keyParts);
    value.write(out);
    out.writeDouble(rate);
    Exemplars one = new Exemplars();
    one.offer(exemplar);
    one.write(out);
  }

  static Waiting read(DataInput in) throws IOException {
    long time = in.readLong();
    FlowId id = FlowId.read(in);
    byte[][] parts = Flow.readParts(in);
    PairedValue value = PairedValue.read(in);
    double rate = in.readDouble();
    return new Waiting(time, id, parts, value, rate, Exemplars.read(in).list().get(0));
  }
}
