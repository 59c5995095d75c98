package io.tapline.flink.ingest;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * Identifies a connection by the keyed hash of its endpoints and, since ports are reused, by the
 * client's initial sequence number.
 */
record FlowId(long hash, long incarnation) {
  /**
   * Compares the fields directly: the compiler-generated method takes longer than the rest of a
   * lookup.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof FlowId id && id.hash == hash && id.incarnation == incarnation;
  }

  @Override
  public int hashCode() {
    long mixed = (hash ^ incarnation * 0x9e3779b97f4a7c15L) * 0xff51afd7ed558ccdL;
    return (int) (mixed >>> 32);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(hash);
    out.writeLong(incarnation);
  }

  static FlowId read(DataInput in) throws IOException {
    long hash = in.readLong();
    return new FlowId(hash, in.readLong());
  }
}
