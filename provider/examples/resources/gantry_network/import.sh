terraform import gantry_network.example 'lan0'
