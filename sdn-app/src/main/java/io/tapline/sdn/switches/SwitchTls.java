package io.tapline.sdn.switches;

import javax.net.ssl.SSLContext;

/**
 * TLS settings for connections from switches.
 *
 * @param context context with the authorities that sign switches' certificates
 * @param anyDatapath true if a certificate without a datapath ID is valid for any datapath;
 *     otherwise it is rejected
 */
public record SwitchTls(SSLContext context, boolean anyDatapath) {}
