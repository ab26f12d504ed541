// The environment of the programs that the daemon starts: always the same one, whatever the daemon was started with.

/** Where the host's programs are; those of the superuser included, which the PATH of a daemon often lacks. */
export const programDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** Never an empty one: programs start programs (LXC runs apparmor_parser), and without PATH they look in /bin and /usr/bin only. */
export const programEnv = { LC_ALL: 'C', PATH: programDirs.join(':') } as const;
