package io.tapline.control.cli.options;

import io.tapline.control.Tap;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options for taps: copies that switches send to this host. */
public final class TapOptions {
  @Option(
      names = "--tap",
      paramLabel = "TAP",
      converter = Converter.class,
      description =
          "SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE: copies made at this switch, port and side of its queue."
              + " A packet that several taps show counts once. FILE#INTERFACE is one interface of a pcapng.")
  private List<Tap> taps = new ArrayList<>();

  public List<Tap> taps() {
    return taps;
  }

  /** Reads a tap. */
  static final class Converter implements ITypeConverter<Tap> {
    @Override
    public Tap convert(String text) {
      try {
        return new Tap(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
