package io.tapline.flink.group;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A row's earliest-ending flows. */
public final class Exemplars {
  /** Maximum number per row. */
  public static final int MAX_EXEMPLARS = 3;

  private final List<byte[]> earliest = new ArrayList<>(MAX_EXEMPLARS);

  public void offer(Exemplar exemplar) {
    offer(exemplar.toBytes());
  }

  void offer(byte[] flow) {
    int place = earliest.size();
    while (place > 0 && Arrays.compareUnsigned(flow, earliest.get(place - 1)) < 0) {
      place--;
    }
    if (place < MAX_EXEMPLARS) {
      earliest.add(place, flow);
    }
    if (earliest.size() > MAX_EXEMPLARS) {
      earliest.remove(MAX_EXEMPLARS);
    }
  }

  public boolean isFull() {
    return earliest.size() == MAX_EXEMPLARS;
  }

  public List<Exemplar> list() {
    return earliest.stream().map(Exemplar::of).toList();
  }

  public void write(DataOutput out) throws IOException {
    out.writeByte(earliest.size());
    for (byte[] flow : earliest) {
      Wire.writeBytes(out, flow);
    }
  }

  public static Exemplars read(DataInput in) throws IOException {
    Exemplars exemplars = new Exemplars();
    for (int i = in.readByte(); i > 0; i--) {
      exemplars.earliest.add(Wire.readBytes(in));
    }
    return exemplars;
  }
}
