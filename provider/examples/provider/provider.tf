provider "gantry" {
  address = "unix:///var/lib/gantry/unix.socket"
}
