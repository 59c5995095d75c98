package io.tapline.flink.ingest;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * A connection: the keyed hash of its endpoints, and the client's initial sequence number since
 * ports are reused.
 */
record FlowId(long hash, long incarnation) {
  void write(DataOutput out) throws IOException {
    out.writeLong(hash);
    out.writeLong(incarnation);
  }

  static FlowId read(DataInput in) throws IOException {
    long hash = in.readLong();
    return new FlowId(hash, in.readLong());
  }
}
