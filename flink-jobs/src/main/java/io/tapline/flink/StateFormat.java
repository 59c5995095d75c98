package io.tapline.flink;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * Marks an operator's state in a checkpoint with its layout version and, if accumulators follow,
 * with the aggregate and its version. State of another version is refused, since it would be
 * misread.
 */
public final class StateFormat {
  /** "TAP" and the layout version. Checkpoints that predate versioning never begin with it. */
  private static final int VERSION = 0x54415003;

  private StateFormat() {}

  public static void write(DataOutput out) throws IOException {
    out.writeInt(VERSION);
  }

  /**
   * Reads and checks the layout version.
   *
   * @throws IOException if the state has a different version
   */
  public static void require(DataInput in) throws IOException {
    int version = in.readInt();
    if (version != VERSION) {
      throw refused("its layout version is %x instead of %x".formatted(version, VERSION));
    }
  }

  /** Writes the versions of the layout and the aggregate, for state that contains accumulators. */
  public static void write(DataOutput out, MergeableAggregate aggregate) throws IOException {
    write(out);
    Wire.writeText(out, Aggregates.planName(aggregate));
    Wire.writeUnsigned(out, aggregate.version());
  }

  /**
   * Reads and checks the versions of the layout and the aggregate.
   *
   * @throws IOException if the state has a different version or aggregate
   */
  public static void require(DataInput in, MergeableAggregate aggregate) throws IOException {
    require(in);
    String name = Wire.readText(in);
    long version = Wire.readUnsigned(in);
    if (!name.equals(Aggregates.planName(aggregate)) || version != aggregate.version()) {
      throw refused(
          "it has version %d of the aggregate %s, not version %d of %s"
              .formatted(version, name, aggregate.version(), Aggregates.planName(aggregate)));
    }
  }

  private static IOException refused(String reason) {
    return new IOException(
        "the checkpoint was written by another version of the job: %s; resubmit the query"
            .formatted(reason));
  }
}
