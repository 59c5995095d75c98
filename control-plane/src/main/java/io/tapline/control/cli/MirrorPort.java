package io.tapline.control.cli;

/** What a testbed's switches give copies to a host by. */
enum MirrorPort {
  /** A network device. */
  VETH("veth"),
  /** Shared memory, by DPDK. */
  MEMIF("memif");

  private final String flag;

  MirrorPort(String flag) {
    this.flag = flag;
  }

  @Override
  public String toString() {
    return flag;
  }

  /** Reads what a user wrote. */
  static final class Converter implements picocli.CommandLine.ITypeConverter<MirrorPort> {
    @Override
    public MirrorPort convert(String text) {
      for (MirrorPort port : values()) {
        if (port.flag.equals(text)) {
          return port;
        }
      }
      throw new picocli.CommandLine.TypeConversionException(
          "'" + text + "' is no kind of mirror port: use veth or memif");
    }
  }
}
