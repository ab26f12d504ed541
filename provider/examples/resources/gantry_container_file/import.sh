terraform import gantry_container_file.example 'web//etc/motd'
