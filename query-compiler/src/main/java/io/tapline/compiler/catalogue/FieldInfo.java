package io.tapline.compiler.catalogue;

/**
 * One field of a parser's tuples.
 *
 * @param unit "ns", "bytes"…; empty for values without a unit
 * @param additive whether sums of its values are meaningful
 * @param common whether every parser has it (times, flow, endpoints)
 * @param optional whether a tuple may lack a value
 */
public record FieldInfo(
    String name,
    Type type,
    String unit,
    String description,
    boolean additive,
    boolean common,
    boolean optional) {

  /** Types of tuple columns. */
  public enum Type {
    U64,
    I64,
    F64,
    BOOL,
    STRING,
    ADDRESS;

    public boolean isNumeric() {
      return this == U64 || this == I64 || this == F64;
    }
  }

  /**
   * Returns true for the parser's own strings; common fields such as flows and endpoints are
   * excluded.
   */
  public boolean isText() {
    return type == Type.STRING && !common;
  }
}
