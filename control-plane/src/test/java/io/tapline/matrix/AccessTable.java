package io.tapline.matrix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The table in schema/rights.txt, which lists the operations that each role may perform on each
 * service.
 *
 * @param roles the table's columns
 * @param rows rows in the file's order
 */
record AccessTable(List<String> roles, List<Row> rows) {
  private static final int FIRST_ROLE = 3;

  /**
   * One operation.
   *
   * @param allowed whether a role may perform the operation, by role
   */
  record Row(String service, int port, String operation, Map<String, Boolean> allowed) {
    /**
     * Returns true if the operation only opens a TLS connection, which the port's other operations
     * require.
     */
    boolean isConnect() {
      return operation.equals("connect");
    }

    String name() {
      return service + ":" + port + " " + operation;
    }
  }

  /**
   * Reads the table.
   *
   * @throws IOException if the file can't be read, or a line does not have one cell for each column
   */
  static AccessTable read(Path file) throws IOException {
    List<String> roles = null;
    List<Row> rows = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      String[] cells = line.split(" +");
      if (roles == null) {
        roles = List.of(cells).subList(FIRST_ROLE, cells.length);
      } else {
        rows.add(row(file, roles, cells));
      }
    }
    return new AccessTable(roles, rows);
  }

  /**
   * Returns the table with only one role's column.
   *
   * @throws IllegalArgumentException if there is no such role
   */
  AccessTable only(String role) {
    if (!roles.contains(role)) {
      throw new IllegalArgumentException("there is no role " + role + ", only " + roles);
    }
    return new AccessTable(List.of(role), rows);
  }

  /**
   * Returns the row of an operation.
   *
   * @throws IllegalArgumentException if there is no such row
   */
  Row row(String name) {
    return rows.stream()
        .filter(row -> row.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the table has no row " + name));
  }

  private static Row row(Path file, List<String> roles, String[] cells) throws IOException {
    if (cells.length != FIRST_ROLE + roles.size()) {
      throw new IOException(
          "%s: %s has %d cells, not %d"
              .formatted(file, cells[2], cells.length, FIRST_ROLE + roles.size()));
    }
    Map<String, Boolean> allowed = new LinkedHashMap<>();
    for (int i = 0; i < roles.size(); i++) {
      allowed.put(roles.get(i), cells[FIRST_ROLE + i].equals("x"));
    }
    return new Row(cells[0], Integer.parseInt(cells[1]), cells[2], allowed);
  }
}
