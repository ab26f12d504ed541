// The environment of programs that the daemon starts: always the same, whatever the daemon's own.

/** Folders of the host's programs, including the superuser's, which a daemon's PATH often lacks. */
export const programDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** Never empty: programs start programs (LXC runs apparmor_parser), and without PATH they search only /bin and /usr/bin. */
export const programEnv = { LC_ALL: 'C', PATH: programDirs.join(':') } as const;
