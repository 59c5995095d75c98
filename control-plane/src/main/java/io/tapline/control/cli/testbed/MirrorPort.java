package io.tapline.control.cli.testbed;

/** The kind of port through which a testbed's switches deliver copies to a host. */
enum MirrorPort {
  /** A network device. */
  VETH("veth"),
  /** DPDK shared memory. */
  MEMIF("memif");

  private final String flag;

  MirrorPort(String flag) {
    this.flag = flag;
  }

  @Override
  public String toString() {
    return flag;
  }

  /** Parses a user's value. */
  static final class Converter implements picocli.CommandLine.ITypeConverter<MirrorPort> {
    @Override
    public MirrorPort convert(String text) {
      for (MirrorPort port : values()) {
        if (port.flag.equals(text)) {
          return port;
        }
      }
      throw new picocli.CommandLine.TypeConversionException(
          "'" + text + "' is not a kind of mirror port: use veth or memif");
    }
  }
}
