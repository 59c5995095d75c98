package io.tapline.flink.group;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The earliest few flows of a group. */
public final class Exemplars {
  /** Kept per group. */
  public static final int MOST = 3;

  private final List<Exemplar> earliest = new ArrayList<>(1);

  /** Whether a flow that ended at {@code timeNs} could still be among the earliest. */
  boolean wants(long timeNs) {
    return earliest.size() < MOST || timeNs <= earliest.get(MOST - 1).endNs();
  }

  public void offer(Exemplar exemplar) {
    int place = earliest.size();
    while (place > 0 && Exemplar.EARLIEST.compare(exemplar, earliest.get(place - 1)) < 0) {
      place--;
    }
    if (place < MOST) {
      earliest.add(place, exemplar);
    }
    if (earliest.size() > MOST) {
      earliest.remove(MOST);
    }
  }

  public List<Exemplar> list() {
    return earliest;
  }

  public void write(DataOutput out) throws IOException {
    out.writeByte(earliest.size());
    for (Exemplar exemplar : earliest) {
      exemplar.write(out);
    }
  }

  public static Exemplars read(DataInput in) throws IOException {
    Exemplars exemplars = new Exemplars();
    for (int i = in.readByte(); i > 0; i--) {
      exemplars.earliest.add(Exemplar.read(in));
    }
    return exemplars;
  }
}
