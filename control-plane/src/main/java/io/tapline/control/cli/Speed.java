package io.tapline.control.cli;

/** How fast captures are read. */
enum Speed {
  /** As fast as they can be processed. */
  MAX("max"),
  /** As fast as they were captured. */
  REAL("1x");

  private final String flag;

  Speed(String flag) {
    this.flag = flag;
  }

  /** As the monitor takes it, and as users write it. */
  @Override
  public String toString() {
    return flag;
  }

  /** Reads what a user wrote. */
  static final class Converter implements picocli.CommandLine.ITypeConverter<Speed> {
    @Override
    public Speed convert(String text) {
      for (Speed speed : values()) {
        if (speed.flag.equalsIgnoreCase(text)) {
          return speed;
        }
      }
      throw new picocli.CommandLine.TypeConversionException(
          "'" + text + "' is not a speed: use max or 1x");
    }
  }
}
