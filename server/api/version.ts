// The version of this package, as daemon, command line and provider tell it.
export const version = '0.1.0';
