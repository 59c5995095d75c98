package io.tapline.flink.accounting;

import io.tapline.aggregates.Wire;
import io.tapline.flink.group.Answers;
import io.tapline.schema.proto.Accounting;
import io.tapline.schema.proto.Dropped;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * The counters from which a query's completeness is computed. They are additive, so partial counts
 * can be sent and merged. Not thread-safe.
 */
public final class Accounts {
  /** Counters of one processor, in addition to the query's. */
  public static final class OfProcessor {
    private long late;
    private long reused;
    private long unanswered;
    private long halfSeen;
    private final Counters dropped = new Counters();

    public void addLate(long tuples) {
      late += tuples;
    }

    public void addReused(long flows) {
      reused += flows;
    }

    /**
     * Counts a tuple that is unanswered or half seen; others have no effect.
     *
     * @param response one of {@link Answers}
     */
    public void addAnswer(byte response) {
      unanswered += response == Answers.UNANSWERED ? 1 : 0;
      halfSeen += response == Answers.HALF_SEEN ? 1 : 0;
    }

    public void drop(String reason, long count) {
      dropped.add(reason, count);
    }

    public long unanswered() {
      return unanswered;
    }

    public long halfSeen() {
      return halfSeen;
    }

    public long late() {
      return late;
    }

    public long reused() {
      return reused;
    }

    public Counters dropped() {
      return dropped;
    }

    private boolean isEmpty() {
      return late == 0 && reused == 0 && unanswered == 0 && halfSeen == 0 && dropped.isEmpty();
    }
  }

  private long packetsIn;
  private long packetsOut;
  private long bytesIn;
  private long tuplesIn;
  private long packetsPolled;
  private long tuples;
  private long records;
  private long duplicates;
  private long clockSteps;
  private double samplingRate = 1;
  private final Counters dropped = new Counters();
  private final OfProcessor[] processors;

  public Accounts(int processors) {
    this.processors = new OfProcessor[processors];
    for (int i = 0; i < processors; i++) {
      this.processors[i] = new OfProcessor();
    }
  }

  public OfProcessor processor(int index) {
    return processors[index];
  }

  /** Adds the report that a monitor sent in a batch. */
  public void add(Accounting monitor) {
    addSeen(monitor);
    addLost(monitor, 0, 1);
  }

  /** Adds a monitor's report without its losses. */
  public void addSeen(Accounting monitor) {
    packetsIn += monitor.getPacketsIn();
    packetsOut += monitor.getPacketsOut();
    bytesIn += monitor.getBytesIn();
    tuplesIn += monitor.getTuplesIn();
    packetsPolled += monitor.getPacketsPolled();
  }

  /**
   * Adds the {@code part}-th (from 0) of {@code parts} shares of the losses. All shares add up to
   * the total.
   */
  public void addLost(Accounting monitor, long part, long parts) {
    for (Dropped loss : monitor.getDroppedList()) {
      drop(
          reason(loss),
          share(loss.getCount(), part + 1, parts) - share(loss.getCount(), part, parts));
    }
  }

  private static long share(long count, long part, long parts) {
    return count / parts * part + count % parts * part / parts;
  }

  /**
   * Returns the reason under which a loss is counted. Losses of packets and of tuples have distinct
   * reasons; any other unit is appended as a suffix.
   */
  private static String reason(Dropped loss) {
    return switch (loss.getUnit()) {
      case STREAM_BYTES -> loss.getReason() + "_stream_bytes";
      case FLOWS -> loss.getReason() + "_flows";
      default -> loss.getReason();
    };
  }

  public void drop(String reason, long count) {
    dropped.add(reason, count);
  }

  /** Adds the rows of one batch. */
  public void addRows(int rows, double rate) {
    tuples += rows;
    if (rows > 0) {
      samplingRate = Math.min(samplingRate, rate);
    }
  }

  /**
   * Counts a record, accepted or not, so that later totals can be distinguished from earlier ones.
   */
  public void addRecord() {
    records++;
  }

  public void addDuplicate() {
    duplicates++;
  }

  /** Counts a backward step of a monitor's clock. */
  public void addClockStep() {
    clockSteps++;
  }

  public void add(Accounts addedAccounts) {
    packetsIn += addedAccounts.packetsIn;
    packetsOut += addedAccounts.packetsOut;
    bytesIn += addedAccounts.bytesIn;
    tuplesIn += addedAccounts.tuplesIn;
    packetsPolled += addedAccounts.packetsPolled;
    tuples += addedAccounts.tuples;
    records += addedAccounts.records;
    duplicates += addedAccounts.duplicates;
    clockSteps += addedAccounts.clockSteps;
    samplingRate = Math.min(samplingRate, addedAccounts.samplingRate);
    dropped.add(addedAccounts.dropped);
    for (int i = 0; i < processors.length; i++) {
      processors[i].late += addedAccounts.processors[i].late;
      processors[i].reused += addedAccounts.processors[i].reused;
      processors[i].unanswered += addedAccounts.processors[i].unanswered;
      processors[i].halfSeen += addedAccounts.processors[i].halfSeen;
      processors[i].dropped.add(addedAccounts.processors[i].dropped);
    }
  }

  /**
   * Undoes {@link #add(Accounts)} of {@code subtracted}, except for the sampling rate. REQUIRES:
   * {@link #mayHaveFolded} is false.
   */
  public void subtract(Accounts subtracted) {
    packetsIn -= subtracted.packetsIn;
    packetsOut -= subtracted.packetsOut;
    bytesIn -= subtracted.bytesIn;
    tuplesIn -= subtracted.tuplesIn;
    packetsPolled -= subtracted.packetsPolled;
    tuples -= subtracted.tuples;
    records -= subtracted.records;
    duplicates -= subtracted.duplicates;
    clockSteps -= subtracted.clockSteps;
    dropped.subtract(subtracted.dropped);
    for (int i = 0; i < processors.length; i++) {
      processors[i].late -= subtracted.processors[i].late;
      processors[i].reused -= subtracted.processors[i].reused;
      processors[i].unanswered -= subtracted.processors[i].unanswered;
      processors[i].halfSeen -= subtracted.processors[i].halfSeen;
      processors[i].dropped.subtract(subtracted.processors[i].dropped);
    }
  }

  /** Returns true if there were so many reasons that some may have been counted together. */
  public boolean mayHaveFolded() {
    boolean folded = dropped.isFull();
    for (OfProcessor processor : processors) {
      folded |= processor.dropped.isFull();
    }
    return folded;
  }

  public void setSamplingRate(double rate) {
    samplingRate = rate;
  }

  public boolean isEmpty() {
    for (OfProcessor processor : processors) {
      if (!processor.isEmpty()) {
        return false;
      }
    }
    return records == 0 && tuples == 0 && duplicates == 0 && clockSteps == 0 && dropped.isEmpty();
  }

  public long packetsIn() {
    return packetsIn;
  }

  public long packetsOut() {
    return packetsOut;
  }

  public long bytesIn() {
    return bytesIn;
  }

  /**
   * Returns the number of packets that were timestamped when a monitor polled them; 0 unless the
   * query measures queues.
   */
  public long packetsPolled() {
    return packetsPolled;
  }

  /** Returns the number of tuples that parsers emitted. */
  public long tuplesIn() {
    return tuplesIn;
  }

  /** Returns the number of tuples that arrived. */
  public long tuples() {
    return tuples;
  }

  /** Returns the number of Kafka records read, including refused ones. */
  public long records() {
    return records;
  }

  public long duplicates() {
    return duplicates;
  }

  /**
   * Returns the number of batches whose watermark was far behind the previous one of their lane.
   */
  public long clockSteps() {
    return clockSteps;
  }

  /** Returns the lowest sampling rate of any batch. */
  public double samplingRate() {
    return samplingRate;
  }

  public Counters dropped() {
    return dropped;
  }

  public int processors() {
    return processors.length;
  }

  public void write(DataOutput out) throws IOException {
    for (long count :
        new long[] {
          packetsIn,
          packetsOut,
          bytesIn,
          tuplesIn,
          tuples,
          records,
          duplicates,
          clockSteps,
          packetsPolled
        }) {
      Wire.writeUnsigned(out, count);
    }
    out.writeDouble(samplingRate);
    dropped.write(out);
    for (OfProcessor processor : processors) {
      Wire.writeUnsigned(out, processor.late);
      Wire.writeUnsigned(out, processor.reused);
      Wire.writeUnsigned(out, processor.unanswered);
      Wire.writeUnsigned(out, processor.halfSeen);
      processor.dropped.write(out);
    }
  }

  public static Accounts read(DataInput in, int processors) throws IOException {
    Accounts accounts = new Accounts(processors);
    accounts.packetsIn = Wire.readUnsigned(in);
    accounts.packetsOut = Wire.readUnsigned(in);
    accounts.bytesIn = Wire.readUnsigned(in);
    accounts.tuplesIn = Wire.readUnsigned(in);
    accounts.tuples = Wire.readUnsigned(in);
    accounts.records = Wire.readUnsigned(in);
    accounts.duplicates = Wire.readUnsigned(in);
    accounts.clockSteps = Wire.readUnsigned(in);
    accounts.packetsPolled = Wire.readUnsigned(in);
    accounts.samplingRate = in.readDouble();
    accounts.dropped.read(in);
    for (OfProcessor processor : accounts.processors) {
      processor.late = Wire.readUnsigned(in);
      processor.reused = Wire.readUnsigned(in);
      processor.unanswered = Wire.readUnsigned(in);
      processor.halfSeen = Wire.readUnsigned(in);
      processor.dropped.read(in);
    }
    return accounts;
  }
}
