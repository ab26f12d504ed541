// security.syscalls.deny_compat: a filter that denies all system calls of another ABI (32-bit, x32). LXC's own filter cannot do it: it
// applies a rule for one ABI to all of them. So the filter is installed on lxc-start and lxc-attach, and everything they start inherits it.
import { driverErrors } from '../../driver-error.ts';
import { findProgram } from '../host/programs.ts';

interface Abi {
  /** The kernel's name of the ordinary ABI (AUDIT_ARCH_*). */
  readonly audit: number;
  /** Number of seccomp(2) in it. */
  readonly seccomp: number;
  /** Numbers from here on belong to an ABI with the same name. */
  readonly foreignFrom?: number;
}

const abis: Readonly<Record<string, Abi>> = {
  x64: { audit: 0xc000_003e, seccomp: 317, foreignFrom: 0x4000_0000 },
  arm64: { audit: 0xc000_00b7, seccomp: 277 },
};

/** Arguments to put before a command line. Throws DriverError NotSupported if it is not possible. */
export function nativeOnly(arch: string = process.arch, perl = findProgram('perl')): readonly string[] {
  const abi = abis[arch];
  if (abi !== undefined && perl !== undefined) return [perl, '-e', script(abi)];
  const why =
    abi === undefined
      ? `it is known for x86-64 and arm64 only, this is ${arch}`
      : 'perl is missing (package perl-base)';
  throw driverErrors.notSupported(`security.syscalls.deny_compat is not available on this host: ${why}`);
}

const load = 0x20;
const ifEqual = 0x15;
const ifAtLeast = 0x35;
const done = 0x06;
const allow = 0x7fff_0000;
const noSuchCall = 0x0005_0000 | 38;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The kernel's filter language: offset 4 has the ABI, 0 the number of the call. */
function program({ audit, foreignFrom }: Abi): readonly Instruction[] {
  if (foreignFrom === undefined) {
    return [
      [load, 0, 0, 4],
      [ifEqual, 0, 1, audit],
      [done, 0, 0, allow],
      [done, 0, 0, noSuchCall],
    ];
  }
  return [
    [load, 0, 0, 4],
    [ifEqual, 0, 3, audit],
    [load, 0, 0, 0],
    [ifAtLeast, 1, 0, foreignFrom],
    [done, 0, 0, allow],
    [done, 0, 0, noSuchCall],
  ];
}

function script(abi: Abi): string {
  const instructions = program(abi);
  const packed = instructions.map((one) => `pack('SCCL', ${one.join(', ')})`).join(' . ');
  return [
    `my $filter = ${packed};`,
    `my $program = pack('Sx6P', ${instructions.length}, $filter);`,
    `syscall(${abi.seccomp}, 1, 0, $program) == 0 or die "seccomp: $!\\n";`,
    'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";',
  ].join(' ');
}
