// The version of this package, which daemon, command line and provider report.
export const version = '0.1.0';
