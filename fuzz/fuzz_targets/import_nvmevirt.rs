#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ssdlab_fuzz::import(ssdlab_fuzz::Simulator::Nvmevirt, data));
