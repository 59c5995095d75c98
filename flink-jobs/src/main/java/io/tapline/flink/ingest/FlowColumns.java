package io.tapline.flink.ingest;

import io.tapline.flink.group.Exemplar;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;

/**
 * The columns of a batch from which exemplars are built. They are read row by row, since few rows
 * become exemplars. Addresses are copied from the dictionary once and shared by flows between the
 * same hosts.
 */
final class FlowColumns {
  private static final byte[] NO_ADDRESS = {};

  private final TupleColumns columns;
  private final int hash;
  private final int incarnation;
  private final int sourcePort;
  private final int destinationPort;
  private final int responseTime;
  private final int source;
  private final int destination;
  private final byte[][] sources;
  private final byte[][] destinations;

  FlowColumns(TupleColumns columns) {
    this.columns = columns;
    hash = number("flow_hash");
    incarnation = number("flow_incarnation");
    sourcePort = number("src_port");
    destinationPort = number("dst_port");
    responseTime = number("response_time_ns");
    source = address("src_ip");
    destination = address("dst_ip");
    sources = new byte[source < 0 ? 0 : columns.entries(source)][];
    destinations = new byte[destination < 0 ? 0 : columns.entries(destination)][];
  }

  private int number(String field) {
    int column = columns.index(field);
    return column < 0 || columns.hasDictionary(column) ? -1 : column;
  }

  private int address(String field) {
    int column = columns.index(field);
    return column < 0 || columns.type(column) != Column.Type.ADDRESS ? -1 : column;
  }

  /** Returns false if a row does not belong to a flow, such as the load of a link. */
  boolean hasFlow(int row) {
    return hash < 0 || columns.longAt(hash, row) != 0;
  }

  /**
   * Returns an exemplar for a row that became certain at {@code endNs}. Fields without a column are
   * 0 or empty.
   */
  Exemplar exemplar(int row, long endNs, String monitor) {
    long duration = Math.max(0, Math.min(at(responseTime, row), endNs));
    return new Exemplar(
        at(hash, row),
        at(incarnation, row),
        at(source, sources, row),
        (int) at(sourcePort, row),
        at(destination, destinations, row),
        (int) at(destinationPort, row),
        endNs - duration,
        endNs,
        monitor);
  }

  private long at(int column, int row) {
    return column < 0 ? 0 : columns.longAt(column, row);
  }

  private byte[] at(int column, byte[][] known, int row) {
    if (column < 0) {
      return NO_ADDRESS;
    }
    long entry = columns.longAt(column, row);
    if (entry < 0 || entry >= known.length) {
      return NO_ADDRESS;
    }
    if (known[(int) entry] == null) {
      known[(int) entry] = columns.entry(column, (int) entry);
    }
    return known[(int) entry];
  }
}
