package io.tapline.control.cli.options;

/** The speed at which captures are read. */
public enum Speed {
  /** Reads packets as fast as they can be processed. */
  MAX("max"),
  /** Reads packets at the rate at which they were captured. */
  REAL("1x");

  private final String flag;

  Speed(String flag) {
    this.flag = flag;
  }

  /** Returns the value as the monitor and users spell it. */
  @Override
  public String toString() {
    return flag;
  }

  /** Parses a user's value. */
  public static final class Converter implements picocli.CommandLine.ITypeConverter<Speed> {
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
