package io.tapline.conditions;

import io.tapline.schema.proto.Column;

/**
 * A field that a condition reads.
 *
 * @param number the field's number in the program
 * @param type null if rows never have the field
 */
record RowField(int number, Column.Type type) {
  boolean isNumber() {
    return type != Column.Type.STRING && type != Column.Type.ADDRESS;
  }
}
