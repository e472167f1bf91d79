//! `tamis shards`: how what would run now is split among machines.

use crate::args::{Options, ShardsArguments};
use crate::context::Context;
use crate::terminal;
use anyhow::{Context as _, Result};
use tamis_report::human::counted;
use tamis_report::json::shards::{ShardPart, ShardsLine};
use tamis_report::json::{Line, Version};
use tamis_runner::shards::Part;

pub(crate) fn shards(options: &Options, arguments: &ShardsArguments) -> Result<i32> {
    let context = Context::new(options)?;
    let plan = tamis_runner::shard_plan(context.call(), &arguments.command.words, arguments.plan)?;
    if let Some(file) = &arguments.write {
        std::fs::write(file, plan.split.to_bytes()).with_context(|| file.display().to_string())?;
    }
    let of = plan.parts.len();
    let name = |at: usize| format!("{}/{of}", at + 1);
    if options.common.json {
        let part = |part: &Part| ShardPart {
            tests: part.tests as u64,
            seconds: part.wall_us.map(|micros| micros as f64 / 1e6),
        };
        terminal::json(&Line::Shards(ShardsLine {
            version: Version,
            shards: (0..of).map(name).collect(),
            selected: plan.tests as u64,
            parts: plan.parts.iter().map(part).collect(),
        }))?;
        return Ok(0);
    }
    if plan.parts.is_empty() {
        terminal::print("nothing has to run\n");
    }
    for (at, part) in plan.parts.iter().enumerate() {
        let tests = counted(part.tests as u64, "test", "tests");
        let time = match part.wall_us {
            Some(micros) => format!("{:.1} s when they last ran", micros as f64 / 1e6),
            None => "some of them never ran".into(),
        };
        terminal::print(&format!("{}  {tests}, {time}\n", name(at)));
    }
    Ok(0)
}
